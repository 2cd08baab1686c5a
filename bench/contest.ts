import { AdditionTool } from './task.ts'

export type Side = 'loopchart' | 'byHand'

/** What a loop has done since it was made, counted by its model and its tool and not by the loop. */
export interface Work {
  readonly modelCalls: number
  readonly toolCalls: number
  /** Characters of the model's text that were shown while it streamed. */
  readonly shown: number
}

export interface Contestant {
  /** Does the task once and gives the final text. */
  run(): Promise<string>
  work(): Promise<Work>
}

/** The two loops on one task. */
export type Contest = Readonly<Record<Side, Contestant>>

export interface Tally {
  readonly tool: AdditionTool
  shown: number
}

export function contestOf(
  modelCalls: (side: Side) => number | Promise<number>,
  loops: Readonly<Record<Side, (tally: Tally) => () => Promise<string>>>,
): Contest {
  return { loopchart: contestant('loopchart'), byHand: contestant('byHand') }

  function contestant(side: Side): Contestant {
    const tally: Tally = { tool: new AdditionTool(), shown: 0 }
    return {
      run: loops[side](tally),
      work: async () => ({
        modelCalls: await modelCalls(side),
        toolCalls: tally.tool.calls,
        shown: tally.shown,
      }),
    }
  }
}
