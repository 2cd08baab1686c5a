/** What a limit that fired asks of the chart, from the mildest to the strictest. */
export type Reaction = 'warn' | 'conclude' | 'abort'

/** Which limit fired, at what threshold, on what evidence. The guards read it; events and outcomes carry it. */
export interface Verdict {
  /** The name of a limit of `Limits`, or of one of the agent's own. */
  readonly limit: string
  /** The threshold of this reaction. Absent for limits of the agent's own. */
  readonly max?: number
  readonly reaction: Reaction
  /** In words, for people. */
  readonly evidence: string
}

/** A verdict that only tells the model, with what it is told. */
export interface Warning extends Verdict {
  readonly reaction: 'warn'
  /** What the model is told: with the next request, or, for a repeated call, below its result. */
  readonly text: string
}

/** What a limit says of a run, with what a warning is worded from. */
export interface Judgement extends Verdict {
  readonly counted: Counted
}

/** What a limit counted. */
export interface Counted {
  readonly count: number
  /** The threshold. Absent for limits of the agent's own. */
  readonly max?: number
  /** The tool that it is about, where it is about one. */
  readonly tool?: string
}
