import type { AgentContext, OpenCall } from '../context.ts'
import { countFailures, type Failures, noFailures } from './failures.ts'
import { isOff } from './ladder.ts'
import { type Asked, askAll, nothingAsked } from './sameCalls.ts'
import { look, nothingSeen, type RepeatedCall, type Seen } from './seen.ts'

/** What the limits have to know of the steps so far. */
export interface Progress {
  readonly seen: Seen
  readonly failures: Failures
  /** Steps in a row that brought nothing new. */
  readonly stagnantSteps: number
  /** Whether the last step is one of them. */
  readonly isStagnant: boolean
  /** The calls of the last step whose results they had brought before. */
  readonly repeated: readonly RepeatedCall[]
  /** How often each call has been made; kept only where `sameCalls` asks for it. */
  readonly asked: Asked
  /** The calls of the last step that had been made before. */
  readonly askedAgain: readonly RepeatedCall[]
}

export const noProgress: Progress = {
  seen: nothingSeen,
  failures: noFailures,
  stagnantSteps: 0,
  isStagnant: false,
  repeated: [],
  asked: nothingAsked,
  askedAgain: [],
}

/** Takes the calls of a step in, once they are settled. What no limit asks for is not kept. */
export function observeStep(
  { progress, settings: { limits } }: Pick<AgentContext, 'progress' | 'settings'>,
  calls: readonly OpenCall[],
): Progress {
  const counted = {
    ...progress,
    ...askedIn(progress, calls, limits),
    failures: countFailures(progress.failures, calls),
  }
  if (isOff(limits.repeats) && isOff(limits.stagnation)) return counted
  const { seen, repeated, broughtNews } = look(progress.seen, calls)
  const isStagnant = broughtNews === false
  return { ...counted, seen, stagnantSteps: stagnantStepsAfter(progress, broughtNews), isStagnant, repeated }
}

function askedIn(
  { asked }: Progress,
  calls: readonly OpenCall[],
  { sameCalls }: AgentContext['settings']['limits'],
): Pick<Progress, 'asked' | 'askedAgain'> {
  return {
    asked: askAll(asked, calls, sameCalls),
    askedAgain: calls.flatMap(({ call, asked: count = 0 }, position) =>
      count > 1 ? [{ position, tool: call.function.name, count }] : [],
    ),
  }
}

/** A step that says nothing leaves the count as it is. */
function stagnantStepsAfter({ stagnantSteps }: Progress, broughtNews: boolean | undefined): number {
  if (broughtNews === undefined) return stagnantSteps
  return broughtNews ? 0 : stagnantSteps + 1
}

/** Forgets what the last step did, for a reply without calls: its limits have spoken already. */
export function withoutLastStep(progress: Progress): Progress {
  const { failures } = progress
  return {
    ...progress,
    failures: { ...failures, ofLastStep: [] },
    isStagnant: false,
    repeated: [],
    askedAgain: [],
  }
}
