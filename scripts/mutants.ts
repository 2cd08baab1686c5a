// Breaks guards, limits, reducers and the chart one at a time, in a copy, and shows whether the tests notice.
//
//   npm run mutants                  all, some twenty minutes
//   npm run mutants -- budget seen   only those in files whose names hold one of these words
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { boundaryMutants, guardMutants, handMade, type Mutant, missingLimits } from './mutantsOf.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const source = (file: string): string => readFileSync(join(root, file), 'utf8')
const machines = (name: string): string => `src/machines/${name}.ts`
const limits = (name: string): string => machines(`limits/${name}`)

const compared = [
  machines('guards'),
  machines('openCalls'),
  ...['ladder', 'repeats', 'sameCalls', 'errorStreak', 'budget', 'seen'].map(limits),
]

/** By hand: what no pattern finds. */
const changes: readonly (readonly [file: string, from: string, to: string])[] = [
  [machines('guards'), 'describeError(thrown).retryable', 'true'],
  [machines('guards'), "reply.finish === 'content_filter' ||", 'false ||'],
  [machines('guards'), "reply.text.trim() !== '' &&\n    reply.finish !== 'length' &&", ''],
  [machines('guards'), '&& context.sent.length === 0', ''],
  [machines('guards'), "reply.finish !== 'content_filter' && reply.text.trim() !== ''", 'true'],
  [machines('guards'), 'calls.every((open)', 'calls.some((open)'],
  [machines('reducers'), "isWhole && reply.finish !== 'length' ? 0", 'isWhole ? 0'],
  [machines('reducers'), 'if (isRefused(next)) return { ...received, calls: [] }', ''],
  [machines('reducers'), 'sent: []', 'sent'],
  [machines('reducers'), 'verdict === undefined ? withUnheard(context.warnings, warnings) : []', 'warnings'],
  [machines('reducers'), 'closings: context.closings + 1', 'closings: 0'],
  [machines('reducers'), 'limitConcludes(context) ? context.verdict :', ''],
  [
    machines('openCalls'),
    "if (open.approval !== 'pending' && open.started !== true)",
    'if (open.started !== true)',
  ],
  [machines('openCalls'), 'open.sequential === true && isWaitedFor', 'false'],
  [machines('openCalls'), '    if (open.sequential === true) break\n  }', '  }'],
  [machines('openCalls'), 'if (first !== undefined)', 'if (false)'],
  [machines('openCalls'), 'if (sameAs !== undefined) return false', ''],
  [machines('openCalls'), "  'truncated',\n", ''],
  [machines('openCalls'), "  'limit_reached',\n", ''],
  [machines('openCalls'), "  'denied',\n", ''],
  [machines('openCalls'), "  'repeated',\n", ''],
  [machines('openCalls'), 'answer === undefined ? started === true :', 'answer === undefined ? true :'],
  [machines('agentMachine'), 'CANCEL: {', 'IGNORED: {'],
  [machines('agentMachine'), 'SEND: { actions', 'IGNORED: { actions'],
  [machines('agentMachine'), "target: 'calling', actions: 'beginNextAttempt'", "target: 'calling'"],
  [machines('agentMachine'), "exit: 'stopTools',", ''],
  [machines('agentMachine'), "entry: 'startDeadlines',", ''],
  [machines('agentMachine'), "'xstate.error.actor.deadline.*': {},", ''],
  [machines('agentMachine'), "'conclude', 'abort'", "'conclude'"],
  [limits('judge'), "['abort', 'conclude']", "['conclude', 'abort']"],
  [limits('judge'), '  malformed,\n  time,', '  time,\n  malformed,'],
  [limits('judge'), '  errorStreak,\n  repeats,', '  repeats,\n  errorStreak,'],
  [limits('judge'), '  repeats,\n  sameCalls,\n  stagnation,', '  stagnation,\n  sameCalls,\n  repeats,'],
  [limits('sameCalls'), 'inARow && ', ''],
  [limits('sameCalls'), 'count === undefined ? askOther(asked, askedAs, counting) : ', ''],
  [
    limits('sameCalls'),
    'askedAs = signature',
    'askedAs: _written = signature, signature: askedAs = signature',
  ],
  [machines('openCalls'), 'count >= lastOf(sameCalls)', 'false'],
  [machines('openCalls'), '&& !unknown.includes(i)', ''],
  [limits('errorStreak'), ' || limits.errorStreak.perTool === false', ''],
  [limits('judge'), '  toolCalls,\n  steps,', '  steps,\n  toolCalls,'],
  [limits('ladder'), "['abort', 'conclude', 'warn']", "['warn', 'conclude', 'abort']"],
  [limits('failures'), 'streak = 0', ''],
  [limits('failures'), 'failures.tool === tool && failures.error === error', 'failures.tool === tool'],
  [limits('failures'), 'byTool = byTool.filter((failures) => failures.tool !== tool)', ''],
  [limits('failures'), '|| !hasBegun(open)', ''],
  [limits('seen'), 'sameAs !== undefined ||', ''],
  [limits('seen'), 'repeatable === true ||', ''],
  [limits('seen'), 'isRepeated ? (earlier ?? 1) + 1 : 1', '(earlier ?? 0) + 1'],
  [limits('seen'), 'earlier === undefined ? !isSeen : !isRepeated', '!isSeen'],
  [limits('seen'), 'earlier === undefined ? !isSeen : !isRepeated', '!isRepeated'],
  [limits('seen'), '&& error === undefined', ''],
  [limits('seen'), "if (answer.error !== 'denied') ", ''],
  [limits('seen'), 'results.has(result) ||', ''],
  [limits('seen'), '|| isSimilar(text, sketch)', ''],
  [limits('seen'), 'text.words > MOST_WORDS_OF_RECORD || ', ''],
  [limits('seen'), ' || !sketch.namesNew(text)', ''],
  [limits('seen'), 'const text = error === undefined ?', 'const text = true ?'],
  [limits('seen'), 'wordsOf(valuesIn(args))', 'wordsOf(args)'],
  [limits('progress'), 'broughtNews ? 0', 'broughtNews ? stagnantSteps'],
  [limits('stagnation'), 'isStagnant ?', 'true ?'],
  [limits('budget'), '2 * nextInput + 3 * nextOutput', 'nextInput'],
  [limits('nextCall'), ', budget * ANSWER_RESERVE_SHARE', ''],
  [limits('nextCall'), 'spend(ANSWER_RESERVE), ', ''],
  [limits('nextCall'), 'tokens += estimateTokens(content)', ''],
]

const chart = machines('agentMachine')
const mutants: readonly Mutant[] = [
  ...guardMutants(chart, source(chart)),
  ...compared.flatMap((file) => boundaryMutants(file, source(file))),
  ...missingLimits(limits('judge'), source(limits('judge'))),
  ...changes.map(([file, from, to]) => handMade(file, source(file), from, to)),
]

/** What looks at the chart, and what looks at limits. Whichever is nearer to a mutant runs first: one failure is enough. */
const chartTests = [
  'test/machines/paths.test.ts',
  'test/runtime/liveMachine.test.ts',
  'test/tools/execution.test.ts',
]
const limitTests = [
  'test/machines/results.test.ts',
  'test/machines/limits',
  'test/agent/limits',
  'test/agent/send.test.ts',
]

const words = process.argv.slice(2)
const chosen = mutants.filter(({ file }) => words.length === 0 || words.some((word) => file.includes(word)))
const copy = mkdtempSync(join(tmpdir(), 'loopchart-mutants-'))
let survived = 0
try {
  for (const part of ['src', 'test', 'package.json', 'tsconfig.json', 'vitest.config.ts']) {
    cpSync(join(root, part), join(copy, part), { recursive: true })
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  if (!testsPass()) throw new Error('The tests fail without any mutant. Mend them first.')
  for (const { file, at, from, to } of chosen) {
    const path = join(copy, file)
    const original = readFileSync(path, 'utf8')
    writeFileSync(path, original.slice(0, at) + to + original.slice(at + from.length))
    const noticed = !testsPass(file.includes('/limits/') ? limitTests : chartTests)
    writeFileSync(path, original)
    if (!noticed) survived++
    const line = original.slice(0, at).split('\n').length
    const change = `${from.trim()} → ${to.trim() || '(removed)'}`
    console.log(`${noticed ? 'noticed ' : 'SURVIVED'}  ${file}:${line}  ${change.replaceAll('\n', ' ')}`)
  }
} finally {
  rmSync(copy, { recursive: true, force: true })
}
console.log(`${chosen.length - survived} of ${chosen.length} mutants were noticed.`)
process.exitCode = survived === 0 ? 0 : 1

function testsPass(first: readonly string[] = chartTests): boolean {
  const rounds = first === chartTests ? [chartTests, limitTests] : [limitTests, chartTests]
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  return rounds.every((tests) => {
    const { status } = spawnSync(process.execPath, [vitest, 'run', '--bail', '1', ...tests], { cwd: copy })
    return status === 0
  })
}
