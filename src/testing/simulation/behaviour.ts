import type { ModelRequest } from '../../models/model.ts'
import type { CallableTool } from '../double/stagedAgent.ts'
import { pick, type Random } from '../random.ts'
import type { ScriptedCall, ScriptedStep } from '../scriptedModel.ts'

/** What a simulated model decides from. */
export interface ModelMoment {
  readonly request: ModelRequest
  /** The model call of this run that it is, from 1. */
  readonly call: number
  readonly random: Random
  /** An answer as the agent wants it. */
  readonly answer: string
  /** The tools that the model is offered, with arguments that fit them. */
  readonly tools: readonly CallableTool[]
  /** A call of a tool with arguments that fit it. */
  callOf(tool: CallableTool): ScriptedCall
}

/** What a simulated model does where it may ask for tools and nothing goes wrong. */
export type Behaviour = (moment: ModelMoment) => ScriptedStep

/** Answers with some chance at each step; else calls one of its tools. */
export function answersAtRate(rate: number): Behaviour {
  return ({ random, tools, answer, callOf }) =>
    tools.length === 0 || random() < rate ? answer : { calls: [callOf(pick(random, tools))] }
}
