import type { AgentContext } from '../context.ts'
import type { Judgement } from './judgement.ts'

/** A limit: what it says of a run after a step. Pure and total, so that a replay comes to the same. */
export type Limit = (context: AgentContext) => Judgement | readonly Judgement[] | undefined
