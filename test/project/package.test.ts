import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { entryPoints, manifest, root, sourceOf } from './repository.ts'

const run = promisify(execFile)

/** One name of each entry point that its users rely on. */
const knownNames: Readonly<Record<string, string>> = {
  loopchart: 'createAgent',
  'loopchart/machines': 'createAgentMachine',
  'loopchart/graph': 'agentDiagram',
  'loopchart/offline': 'exampleTools',
  'loopchart/testing': 'scriptedModel',
  'loopchart/ai-sdk': 'aiSdkModel',
  'loopchart/mcp': 'mcpTools',
  'loopchart/sqlite': 'sqliteStore',
  'loopchart/postgres': 'postgresStore',
  'loopchart/otel': 'otel',
  'loopchart/stately': 'statelyInspector',
  'loopchart/logging': 'logEvents',
  'loopchart/inspect': 'inspectHandler',
}

/** What the users of some entry points install beside the package. */
const optionalPeers = ['@opentelemetry/api']

/** What a build needs; everything else of the repository stays out of it. */
const notCopied = new Set(['node_modules', '.git', 'dist', 'test', 'coverage', 'bench', 'eval', 'examples'])

const BUILD_TIMEOUT_MS = 180_000
const CHILD_TIMEOUT_MS = 60_000

let folder = ''
let consumer = ''
let installed = ''

/** Builds and packs a copy of the repository, and unpacks the package where a project of its user would have it. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'loopchart-package-'))
  const clone = join(folder, 'clone')
  cpSync(root, clone, { recursive: true, filter: (from) => !notCopied.has(from.slice(root.length)) })
  symlinkSync(`${root}node_modules`, join(clone, 'node_modules'))
  await npm(clone, 'run', 'build')
  await npm(clone, 'pack', '--ignore-scripts', '--pack-destination', folder)

  consumer = join(folder, 'consumer')
  installed = join(consumer, 'node_modules', manifest.name)
  mkdirSync(installed, { recursive: true })
  const tarball = join(folder, `${manifest.name}-${manifest.version}.tgz`)
  await run('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1'])
  const installedToo = [...optionalPeers, '@types/node']
  for (const name of [...Object.keys(manifest.dependencies), ...installedToo]) link(name)
  writeFileSync(join(consumer, 'package.json'), '{ "type": "module", "private": true }')
}, BUILD_TIMEOUT_MS)

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

/** Without the network, and without a trace in the user's cache. */
function npm(cwd: string, ...args: readonly string[]) {
  const settings = { npm_config_offline: 'true', npm_config_update_notifier: 'false' }
  const env = { ...process.env, ...settings, npm_config_cache: join(folder, 'cache') }
  return run('npm', [...args], { cwd, env }).catch(withOutput)
}

function link(dependency: string): void {
  const place = join(consumer, 'node_modules', dependency)
  mkdirSync(dirname(place), { recursive: true })
  symlinkSync(`${root}node_modules/${dependency}`, place)
}

/** What a script prints that runs as a module beside the package. */
async function printedBy(script: string): Promise<unknown> {
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: consumer,
    timeout: CHILD_TIMEOUT_MS,
  })
  return JSON.parse(stdout)
}

function withOutput(failure: Error & { stdout?: string }): never {
  throw new Error(`${failure.message}\n${failure.stdout ?? ''}`)
}

function packedFiles(): readonly string[] {
  return readdirSync(installed, { recursive: true }).map(String)
}

describe('the packed package', () => {
  it('holds what users need and nothing of the workshop', () => {
    const folders = new Set(packedFiles().map((path) => path.split('/')[0]))
    expect(folders).toContain('dist')
    expect(folders).toContain('LICENSE')
    for (const name of ['src', 'test', 'scripts', 'node_modules', 'tsconfig.json'])
      expect(folders).not.toContain(name)
  })

  it.each(entryPoints)(
    'can import $specifier on plain Node',
    { timeout: CHILD_TIMEOUT_MS },
    async ({ specifier }) => {
      const names = await printedBy(
        `console.log(JSON.stringify(Object.keys(await import(${JSON.stringify(specifier)}))))`,
      )
      const known = knownNames[specifier]
      expect(names).not.toEqual([])
      if (known !== undefined) expect(names).toContain(known)
    },
  )

  /** The modules that a script loads, `import 'loopchart'` included. */
  const loadedBy = (script: string): Promise<unknown> =>
    printedBy(`
      import { registerHooks } from 'node:module'
      const urls = []
      registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) })
      const loopchart = await import('loopchart')
      ${script}
      console.log(JSON.stringify(urls))
    `)

  it('loads neither the openai package, nor a database, nor ranks of tokens before they are used', {
    timeout: CHILD_TIMEOUT_MS,
  }, async () => {
    const loaded = await loadedBy('loopchart.tokenCounter().atMost("hello")')
    expect(loaded).toContainEqual(expect.stringContaining('/node_modules/xstate/'))
    expect(loaded).not.toContainEqual(expect.stringContaining('/node_modules/openai/'))
    expect(loaded).not.toContainEqual(expect.stringContaining('/node_modules/js-tiktoken/'))
    expect(loaded).not.toContainEqual(expect.stringContaining('/node_modules/@opentelemetry/'))
    expect(loaded).not.toContainEqual(expect.stringMatching(/^node:sqlite$|\/node_modules\/pg/))
    expect(loaded).not.toContainEqual(expect.stringContaining('/dist/inspect/'))
  })

  it('has the page of the inspector, with all that it loads', { timeout: CHILD_TIMEOUT_MS }, async () => {
    const found = await printedBy(`
      const { memoryJournal } = await import('loopchart')
      const { inspectHandler } = await import('loopchart/inspect')
      const { fetch } = inspectHandler({ journal: memoryJournal() })
      const seen = {}
      const get = async (path) => {
        if (path in seen) return
        const answer = await fetch(new Request(new URL(path, 'http://localhost/')))
        seen[path] = answer.status
        const text = await answer.text()
        const loads = /(?:src|href)="([^"#:]+)"|(?:^|;|})import[^'"]*from ?['"]([^'"]+)['"]/gm
        for (const [, inMarkup, inModule] of text.matchAll(loads)) {
          const bare = { preact: '/page/preact/preact.mjs', 'preact/hooks': '/page/preact/hooks.mjs' }[inModule]
          await get(new URL(bare ?? inMarkup ?? inModule, 'http://localhost' + path).pathname)
        }
      }
      await get('/')
      console.log(JSON.stringify(seen))
    `)
    expect(Object.entries(found as object).filter(([, status]) => status !== 200)).toEqual([])
    for (const path of ['/page/main.js', '/page/style/base.css', '/page/run/runHistory.js', '/edgeKey.js'])
      expect(found).toHaveProperty([path])
    for (const path of ['/page/preact/preact.mjs', '/page/preact/hooks.mjs'])
      expect(found).toHaveProperty([path])
  })

  it('needs no database client until a store connects by itself', { timeout: CHILD_TIMEOUT_MS }, async () => {
    const failure = await printedBy(`
      const { postgresStore } = await import('loopchart/postgres')
      const { journal } = postgresStore({ connectionString: 'postgres://nowhere' })
      const { code, message } = await journal.load('r').catch((error) => error)
      console.log(JSON.stringify({ code, message }))
    `)
    expect(failure).toEqual({ code: 'package_missing', message: expect.stringContaining('npm install pg') })
  })

  it('needs no layout library until it draws SVG', { timeout: CHILD_TIMEOUT_MS }, async () => {
    const failure = await printedBy(`
      const { agentDot, agentSvg } = await import('loopchart/graph')
      if (!agentDot().startsWith('digraph')) throw new Error()
      const { code, message } = await agentSvg().catch((error) => error)
      console.log(JSON.stringify({ code, message }))
    `)
    expect(failure).toEqual({
      code: 'package_missing',
      message: expect.stringContaining('npm install @viz-js/viz'),
    })
  })

  it('loads the ranks of the encoding that counts, and nothing else of js-tiktoken', {
    timeout: CHILD_TIMEOUT_MS,
  }, async () => {
    const loaded = await loadedBy('if (loopchart.countTokens("hello world") !== 2) throw new Error()')
    const ofTiktoken = (loaded as string[]).filter((url) => url.includes('/node_modules/js-tiktoken/'))
    expect(ofTiktoken).toEqual([expect.stringContaining('/ranks/o200k_base.cjs')])
  })

  // XState's own declarations do not hold under exactOptionalPropertyTypes, so that goes without the libraries.
  it.each([
    { project: 'strict project that checks its libraries too', options: { skipLibCheck: false } },
    {
      project: 'project as strict as can be',
      options: { skipLibCheck: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
    },
  ])('type-checks in a $project', { timeout: CHILD_TIMEOUT_MS }, async ({ options }) => {
    const compilerOptions = { strict: true, module: 'nodenext', types: ['node'], noEmit: true, ...options }
    const imports = entryPoints.map(({ specifier }, i) => `import * as entry${i} from '${specifier}'`)
    const uses = entryPoints.map((_entryPoint, i) => `console.log(entry${i})`)
    writeFileSync(join(consumer, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
    writeFileSync(join(consumer, 'entryPoints.ts'), [...imports, ...uses].join('\n'))
    writeFileSync(join(consumer, 'usage.ts'), usage)
    const tsc = run(`${root}node_modules/.bin/tsc`, ['--pretty', 'false', '-p', consumer])
    await expect(tsc.catch(withOutput)).resolves.toMatchObject({ stdout: '' })
  })

  const command = Object.values(manifest.bin)[0] ?? ''
  it.runIf(existsSync(root + sourceOf(command)))(
    'has a command that says how it is used',
    { timeout: CHILD_TIMEOUT_MS },
    async () => {
      const file = join(installed, command)
      expect(readFileSync(file, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/)
      const { stdout } = await run(process.execPath, [file, '--help'], { cwd: consumer })
      expect(stdout).toContain('loopchart')
    },
  )
})

/** What a user would write first. The last line is wrong on purpose: it fails if the types are `any`. */
const usage = `
import { createAgent, defineTool, openaiChat, type Outcome } from 'loopchart'
import { agentDiagram } from 'loopchart/graph'
import { z } from 'zod'

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  input: z.object({ a: z.number(), b: z.number() }),
  run: async ({ a, b }) => a + b,
})
const agent = createAgent({ model: openaiChat('gpt-4.1'), tools: [add] })
const outcome: Outcome = await agent.run('What is 1 + 2?')
if (outcome.status === 'done') console.log(outcome.output.toUpperCase(), agentDiagram().length)
// @ts-expect-error An agent needs a model.
createAgent({})
`
