import { posix } from 'node:path'
import { describe, expect, it } from 'vitest'
import { importsOf, withoutComments, withoutStrings } from './imports.ts'
import { filesIn, read } from './repository.ts'

interface Rule {
  /** Rooms and packages of which a room may use values, and so types as well. */
  readonly values: readonly string[] | 'anything'
  /** Rooms and packages of which it may know types only. */
  readonly types?: readonly string[]
}

const seams = ['machines', 'models', 'tools', 'memory', 'journal']
const leaves = [
  'errors',
  'timeouts',
  'waits',
  'delay',
  'backoff',
  'thenables',
  'grace',
  'environment',
  'version',
]
const parts = [...leaves, 'messages', ...seams, 'runtime']

/** What each room may know. A room is a folder of src/, or a file directly in it. */
const rules: Readonly<Record<string, Rule>> = {
  errors: { values: [] },
  version: { values: [] },
  waits: { values: ['errors'] },
  environment: { values: ['node:'] },
  grace: { values: ['thenables'] },
  customLimits: { values: ['errors', 'machines', 'thenables'] },
  delay: { values: ['environment'] },
  backoff: { values: ['environment'] },
  thenables: { values: ['environment'] },
  checkDecisions: { values: ['errors', 'messages', 'runtime'], types: ['machines', 'tools'] },
  timeouts: { values: ['errors', 'delay'] },
  checks: { values: ['errors', 'machines'], types: ['agent', 'messages', 'models'] },
  messages: { values: ['errors', 'jsonrepair'] },
  machines: { values: ['errors', 'waits', 'messages', 'xstate'], types: seams },
  models: { values: ['errors', 'timeouts', 'thenables', 'messages', 'openai', 'node:'], types: seams },
  mcp: { values: ['errors', 'timeouts', 'messages', 'tools', 'zod', 'node:'] },
  agentAsTool: { values: ['errors', 'messages', 'tools', 'zod'], types: ['agent', 'machines', 'runtime'] },
  'ai-sdk': { values: ['errors', 'timeouts', 'messages', 'models'], types: ['@ai-sdk/provider'] },
  tools: { values: [...leaves, 'messages', 'zod'], types: seams },
  memory: { values: ['errors', 'messages', 'thenables', 'node:'], types: [...seams, 'js-tiktoken'] },
  journal: { values: ['errors', 'version', 'messages', 'node:'], types: seams },
  sqlite: { values: ['errors', 'journal', 'node:'], types: ['sessions'] },
  postgres: { values: ['errors', 'journal', 'pg'], types: ['sessions'] },
  runtime: { values: [...leaves, 'messages', 'machines', 'journal', 'xstate', 'node:'], types: seams },
  graph: { values: ['errors', 'messages', 'machines', 'xstate', '@viz-js/viz'], types: parts },
  otel: { values: ['version', '@opentelemetry/api'], types: parts },
  stately: { values: ['machines', 'graph'], types: [...parts, 'xstate'] },
  logging: { values: [], types: parts },
  outputFormat: { values: ['errors', 'messages', 'zod'], types: ['models'] },
  callModel: { values: [...parts, 'outputFormat'], types: ['agentMemory'] },
  agentMemory: { values: [...leaves, 'messages', 'memory'], types: [...seams] },
  services: { values: [...parts, 'callModel'] },
  sessions: {
    values: ['errors', 'messages', 'journal', 'thenables', 'grace', 'node:'],
    types: ['agent', 'machines', 'runtime'],
  },
  agent: {
    values: [
      ...parts,
      'sessions',
      'checks',
      'agentMemory',
      'checkDecisions',
      'customLimits',
      'inspectSwitch',
      'outputFormat',
      'services',
      'node:',
    ],
    types: ['zod'],
  },
  inspectSwitch: { values: ['errors', 'inspect'], types: ['agent', 'runtime'] },
  index: { values: [...parts, 'agent', 'agentAsTool', 'sessions'] },
  inspect: { values: 'anything' },
  testing: { values: 'anything' },
  offline: { values: 'anything' },
  cli: { values: 'anything' },
}

const sources = filesIn('src').filter((path) => path.endsWith('.ts'))

/** `machines` for src/machines/guards.ts, `agent` for src/agent.ts. */
function roomOf(path: string): string {
  return (path.split('/')[1] ?? '').replace(/\.ts$/, '')
}

/** The room or package that an import leads to; all modules of Node count as one. */
function destinationOf(file: string, specifier: string): string {
  if (specifier.startsWith('.')) return roomOf(posix.join(posix.dirname(file), specifier))
  if (specifier.startsWith('node:')) return 'node:'
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

/** The imports of a file that its room may not have, in words. */
function trespasses(file: string, source: string): readonly string[] {
  const room = roomOf(file)
  const rule = rules[room]
  if (rule === undefined) return [`${file}: no rule says what the room "${room}" may know`]
  const { values, types = [] } = rule
  if (values === 'anything') return []
  return importsOf(source).flatMap(({ specifier, typeOnly }) => {
    const destination = destinationOf(file, specifier)
    if (destination === room || values.includes(destination)) return []
    if (typeOnly && types.includes(destination)) return []
    return [`${file}: ${typeOnly ? 'import type' : 'import'} … from '${specifier}'`]
  })
}

describe('the rooms', () => {
  it('know only what lies below them', () => {
    expect(sources.length).toBeGreaterThan(20)
    expect(sources.flatMap((file) => trespasses(file, read(file)))).toEqual([])
  })

  it.each([
    ['src/messages/x.ts', "import { judge } from '../machines/limits.ts'"],
    ['src/messages/x.ts', "import type { Verdict } from '../machines/limits.ts'"],
    ['src/tools/x.ts', "export {\n  judge,\n  type Verdict,\n} from '../machines/limits.ts'"],
    ['src/tools/x.ts', "import { type Verdict } from '../machines/limits.ts'"],
    ['src/tools/x.ts', "const { judge } = await import('../machines/limits.ts')"],
    ['src/memory/x.ts', "import '../agent.ts'"],
    ['src/machines/x.ts', "import { readFile } from 'node:fs/promises'"],
    ['src/index.ts', "export * from './offline/index.ts'"],
    ['src/somewhere/x.ts', ''],
  ])('are told apart: %s may not say %s', (file, source) => {
    expect(trespasses(file, source)).toHaveLength(1)
  })

  it.each([
    ['src/tools/x.ts', "import type { Verdict } from '../machines/limits.ts'"],
    ['src/tools/x.ts', "let limits: typeof import('../machines/limits.ts')"],
    [
      'src/machines/x.ts',
      "import { messageOf } from '../errors.ts'\nimport { assign } from 'xstate/actions'",
    ],
    ['src/machines/x.ts', "/** import { a } from '../runtime/fold.ts' */\n// import '../agent.ts'"],
    ['src/cli/x.ts', "import { createAgent } from '../index.ts'"],
  ])('are told apart: %s may say %s', (file, source) => {
    expect(trespasses(file, source)).toEqual([])
  })
})

/** Whatever would make the same events lead to another run. */
const impurities =
  /\b(?:Date|Math\.random|performance|process|set(?:Timeout|Interval|Immediate)|queueMicrotask|crypto|fetch|console|globalThis)\b/g

function impuritiesOf(source: string): readonly string[] {
  return withoutStrings(withoutComments(source)).match(impurities) ?? []
}

describe('the machine and the messages', () => {
  it('have no clock, no randomness and no input or output', () => {
    const pure = sources.filter((file) => ['machines', 'messages'].includes(roomOf(file)))
    const found = pure.flatMap((file) => impuritiesOf(read(file)).map((impurity) => `${file}: ${impurity}`))
    expect(pure.length).toBeGreaterThan(10)
    expect(found).toEqual([])
  })

  it.each([
    'const at = Date.now()',
    'const at = new Date()',
    'const n = Math.random()',
    'setTimeout(() => {}, 1)',
    'performance.now()',
    'process.env.HOME',
    `const at = \`at \${Date.now()}\``,
  ])('would be caught at %s', (source) => {
    expect(impuritiesOf(source)).toHaveLength(1)
  })

  it.each(["'the process stopped'", '// Date.now()', 'const processed = 1', '`the process stopped`'])(
    'may say %s',
    (source) => {
      expect(impuritiesOf(source)).toEqual([])
    },
  )
})
