// Breaks guards, limits and reducers of the chart one at a time, in a copy, and shows whether the path tests notice.
//
//   npm run mutants
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

interface Mutant {
  readonly file: string
  readonly from: string
  readonly to: string
}

const guards = (from: string, to: string): Mutant => ({ file: 'src/machines/guards.ts', from, to })
const limits = (from: string, to: string): Mutant => ({ file: 'src/machines/limits.ts', from, to })
const reducers = (from: string, to: string): Mutant => ({ file: 'src/machines/reducers.ts', from, to })
const openCalls = (from: string, to: string): Mutant => ({ file: 'src/machines/openCalls.ts', from, to })
const chart = (from: string, to: string): Mutant => ({ file: 'src/machines/agentMachine.ts', from, to })

const mutants: readonly Mutant[] = [
  guards('attempt <= settings.modelRetries', 'attempt < settings.modelRetries'),
  guards('describeError(thrown).retryable', 'true'),
  guards("reply.finish === 'content_filter' ||", 'false ||'),
  guards('return calls.length > 0', 'return calls.length > 1'),
  guards("reply.text.trim() !== '' &&\n    reply.finish !== 'length' &&", ''),
  guards("return !calls.some((open) => open.approval === 'pending')", 'return true'),
  guards('calls.every((open)', 'calls.some((open)'),
  guards("return verdict?.reaction === 'conclude'", 'return false'),
  guards("return verdict?.reaction === 'abort'", 'return false'),
  guards("reply.finish !== 'content_filter' && reply.text.trim() !== ''", 'true'),
  limits('replies >= limits.malformed', 'replies > limits.malformed'),
  limits('failures >= limits.errorStreak', 'failures > limits.errorStreak'),
  limits('step >= limits.steps', 'step > limits.steps'),
  limits('[malformed, errorStreak, steps]', '[steps, malformed, errorStreak]'),
  reducers('if (error === undefined) return 0', 'if (error === undefined) return streak'),
  reducers("error === 'denied' ? streak : streak + 1", 'streak + 1'),
  reducers("isWhole && reply.finish !== 'length' ? 0", 'isWhole ? 0'),
  reducers('if (isRefused(next)) return { ...received, calls: [] }', ''),
  openCalls("if (open.approval !== 'pending' && open.started !== true)", 'if (open.started !== true)'),
  openCalls('open.sequential === true && isWaitedFor', 'false'),
  openCalls('    if (open.sequential === true) break\n  }', '  }'),
  openCalls('if (first !== undefined)', 'if (false)'),
  chart('CANCEL: { target', 'IGNORED: { target'),
  chart("target: 'calling', actions: 'beginNextAttempt'", "target: 'calling'"),
  chart("exit: 'stopTools',", ''),
]

const root = fileURLToPath(new URL('..', import.meta.url))
const copy = mkdtempSync(join(tmpdir(), 'loopchart-mutants-'))
let survived = 0
try {
  for (const part of ['src', 'test', 'package.json', 'tsconfig.json', 'vitest.config.ts']) {
    cpSync(join(root, part), join(copy, part), { recursive: true })
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  if (!testsPass()) throw new Error('The tests fail without any mutant. Mend them first.')
  for (const { file, from, to } of mutants) {
    const path = join(copy, file)
    const original = readFileSync(path, 'utf8')
    if (!original.includes(from)) throw new Error(`${file} no longer holds: ${from}`)
    writeFileSync(
      path,
      original.replace(from, () => to),
    )
    const noticed = !testsPass()
    writeFileSync(path, original)
    if (!noticed) survived++
    console.log(`${noticed ? 'noticed ' : 'SURVIVED'}  ${file}: ${from} → ${to || '(removed)'}`)
  }
} finally {
  rmSync(copy, { recursive: true, force: true })
}
console.log(`${mutants.length - survived} of ${mutants.length} mutants were noticed.`)
process.exitCode = survived === 0 ? 0 : 1

function testsPass(): boolean {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const tests = ['test/machines', 'test/runtime/liveMachine.test.ts', 'test/tools/execution.test.ts']
  const { status } = spawnSync(process.execPath, [vitest, 'run', '--bail', '1', ...tests], { cwd: copy })
  return status === 0
}
