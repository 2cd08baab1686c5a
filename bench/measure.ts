import { deepStrictEqual } from 'node:assert'
import type { Contest, Side, Work } from './contest.ts'
import { finalText } from './replies.ts'

/** What a step cost, in microseconds. */
export interface Cost {
  /** CPU of the whole process, user and system. */
  readonly cpu: number
  /** Time on the wall. */
  readonly wall: number
}

/** Both loops on the same task, one right after the other. */
export type Round = Readonly<Record<Side, Cost>>

export interface Task {
  readonly contest: Contest
  /** Steps of one run. */
  readonly steps: number
  /** Runs of one sample: short runs are repeated until there is something to time. */
  readonly runs: number
}

/** @throws Error where a loop did other work than the task, or than the other loop. */
export async function measureRound(task: Task, first: Side): Promise<Round> {
  const measured =
    first === 'loopchart'
      ? { loopchart: await sample(task, 'loopchart'), byHand: await sample(task, 'byHand') }
      : { byHand: await sample(task, 'byHand'), loopchart: await sample(task, 'loopchart') }
  deepStrictEqual(await task.contest.loopchart.work(), await task.contest.byHand.work())
  return measured
}

async function sample({ contest, steps, runs }: Task, side: Side): Promise<Cost> {
  const contestant = contest[side]
  const before = await contestant.work()
  const texts: string[] = []
  globalThis.gc?.()
  const startedAt = performance.now()
  const cpuBefore = process.cpuUsage()
  for (let run = 0; run < runs; run++) texts.push(await contestant.run())
  const { user, system } = process.cpuUsage(cpuBefore)
  const wall = (performance.now() - startedAt) * 1000
  checkTexts(texts, steps)
  checkWork(before, await contestant.work(), steps, runs)
  return { cpu: (user + system) / (steps * runs), wall: wall / (steps * runs) }
}

function checkTexts(texts: readonly string[], steps: number): void {
  const expected = finalText(steps)
  const wrong = texts.find((text) => text !== expected)
  if (wrong === undefined) return
  throw new Error(`A run ended with ${JSON.stringify(wrong)}, not with ${JSON.stringify(expected)}.`)
}

function checkWork(before: Work, after: Work, steps: number, runs: number): void {
  check('model calls', after.modelCalls - before.modelCalls, runs * steps)
  check('tool calls', after.toolCalls - before.toolCalls, runs * (steps - 1))
}

function check(what: string, actual: number, expected: number): void {
  if (actual !== expected) throw new Error(`A sample made ${actual} ${what}, not ${expected}.`)
}
