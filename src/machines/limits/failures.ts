import type { OpenCall } from '../context.ts'
import { hasBegun } from '../openCalls.ts'

/** Failures of one tool with one error since its last success. */
export interface ToolFailures {
  readonly tool: string
  readonly error: string
  readonly count: number
}

/** Failed tool calls that have not been made good. */
export interface Failures {
  /** In a row, over all tools. */
  readonly streak: number
  readonly byTool: readonly ToolFailures[]
  /** Those of `byTool` to which the last step added. */
  readonly ofLastStep: readonly ToolFailures[]
}

export const noFailures: Failures = { streak: 0, byTool: [], ofLastStep: [] }

/** A model can call ever new tools that do not exist: the oldest failures are forgotten. */
const MOST_FAILURES = 50

/**
 * Takes the settled calls of a step in, in their order; those that ask for the same count once. A success ends the
 * streak over all tools and clears the failures of its own tool. A call that never began is no failure: one that a person
 * refused, that no limit let run, or that was cut off, which `malformed` counts.
 */
export function countFailures(before: Failures, calls: readonly OpenCall[]): Failures {
  let { streak, byTool } = before
  let ofLastStep: readonly ToolFailures[] = []
  for (const open of calls) {
    const { call, answer } = open
    if (answer === undefined || !hasBegun(open)) continue
    const { name: tool } = call.function
    const { error } = answer
    if (error === undefined) {
      streak = 0
      if (byTool.some((failures) => failures.tool === tool))
        byTool = byTool.filter((failures) => failures.tool !== tool)
      ofLastStep = ofLastStep.filter((failures) => failures.tool !== tool)
      continue
    }
    streak++
    const isSame = (failures: ToolFailures): boolean => failures.tool === tool && failures.error === error
    const counted: ToolFailures = { tool, error, count: (byTool.find(isSame)?.count ?? 0) + 1 }
    const others = byTool.filter((failures) => !isSame(failures))
    byTool = [...others.slice(-(MOST_FAILURES - 1)), counted]
    ofLastStep = [...ofLastStep.filter((failures) => !isSame(failures)), counted]
  }
  if (streak === before.streak && byTool === before.byTool && before.ofLastStep.length === 0) return before
  return { streak, byTool, ofLastStep }
}
