import { MisuseError } from '../../errors.ts'
import type { ModelRequest } from '../../models/model.ts'
import { ModelError } from '../../models/modelError.ts'
import { requireRate } from '../optionChecks.ts'
import { pick, type Random } from '../random.ts'
import { HANG, type ScriptedStep } from '../scriptedModel.ts'

/** How often things go wrong: each a chance from 0 to 1, by default 0. */
export interface Faults {
  /** A model call fails with an error that may pass. */
  readonly modelError: number
  /** A model call fails for good. */
  readonly modelFailure: number
  /** A model call is never answered, so that `modelTimeoutMs` has to end it. */
  readonly modelHang: number
  /** A reply is empty, cut off at the output limit or, where the agent wants a form, not of that form. */
  readonly malformed: number
  /** The model calls a tool that there is not, or with arguments that are not JSON. */
  readonly badCall: number
  /** The model refuses. */
  readonly refusal: number
  /** A tool throws an error, not one that may pass. */
  readonly toolError: number
  /** A tool never comes back, so that its `timeoutMs` has to end it. */
  readonly toolHang: number
}

const none: Faults = {
  modelError: 0,
  modelFailure: 0,
  modelHang: 0,
  malformed: 0,
  badCall: 0,
  refusal: 0,
  toolError: 0,
  toolHang: 0,
}

/** @throws MisuseError `invalid_option` for an unknown fault, or a chance that is not from 0 to 1. */
export function checkedFaults(given: Partial<Faults>): Faults {
  for (const [name, rate] of Object.entries(given)) {
    if (!Object.hasOwn(none, name)) {
      throw new MisuseError(
        'invalid_option',
        `There is no fault "${name}". There are ${Object.keys(none).join(', ')}.`,
      )
    }
    requireRate(`faults.${name}`, rate)
  }
  return { ...none, ...given }
}

/** What goes wrong with a model call, if anything does. At most one thing. */
export function modelFault(
  { modelError, modelFailure, modelHang, malformed, badCall, refusal }: Faults,
  { tools, responseFormat }: ModelRequest,
  random: Random,
): ScriptedStep | undefined {
  const formless = responseFormat === undefined ? [] : ['Let me think about that.']
  const [tool] = tools
  const calls = [
    { name: 'no_such_tool', arguments: {} },
    ...(tool === undefined ? [] : [{ name: tool.name, arguments: '{"broken": ' }]),
  ]
  return chosen<ScriptedStep>(random, [
    [modelError, () => new ModelError('overloaded', 'a simulated error', { retryable: true })],
    [modelFailure, () => new ModelError('bad_request', 'a simulated failure', { retryable: false })],
    [modelHang, () => HANG],
    [malformed, () => pick(random, ['', { text: 'The answer is', finish: 'length' }, ...formless])],
    [badCall, () => ({ calls: [pick(random, calls)] })],
    [refusal, () => ({ refusal: 'A simulated refusal.' })],
  ])
}

/** What goes wrong with a tool call, if anything does. */
export function toolFault({ toolError, toolHang }: Faults, random: Random): 'error' | 'hang' | undefined {
  return chosen<'error' | 'hang'>(random, [
    [toolError, () => 'error'],
    [toolHang, () => 'hang'],
  ])
}

/** The first whose share of the whole is hit. Chances that add up to more than 1 leave nothing for the last. */
function chosen<Value>(
  random: Random,
  chances: readonly (readonly [rate: number, make: () => Value])[],
): Value | undefined {
  let left = random()
  for (const [rate, make] of chances) {
    if (left < rate) return make()
    left -= rate
  }
  return undefined
}
