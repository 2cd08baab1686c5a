import type { ModelRequest } from '../../models/model.ts'
import { ModelError } from '../../models/modelError.ts'
import type { CallableTool } from '../double/stagedAgent.ts'
import type { ScriptedCall, ScriptedStep } from '../scriptedModel.ts'

/** Never answers, and does not listen to its signal. */
export const NEVER: unique symbol = Symbol('never')
/** The run is cancelled meanwhile. */
export const CANCEL: unique symbol = Symbol('cancel')

/** One way in which the world can go on. */
export interface Choice<Act> {
  /** How a path names it. */
  readonly name: string
  /** What happens, as a sentence of a story. */
  readonly told: string
  readonly act: Act
}

/** What a model does that goes on by itself until the loop stops it. */
export type Habit = 'goes on' | 'loops'

export type ModelAct =
  | ScriptedStep
  | typeof NEVER
  | typeof CANCEL
  /** From now on the model asks for the same tool whenever it may. */
  | { readonly habit: Habit; readonly step: ScriptedStep }

export type ToolAct =
  | { readonly returns: unknown }
  | { readonly throws: unknown }
  | typeof NEVER
  | typeof CANCEL

/** Characters of a result that is meant to be too long for anybody. */
const HUGE_LENGTH = 50_000

/** A name that no agent's tool has. */
const NO_TOOL = 'no_such_tool'

/** What a model can do where it may ask for tools. The first is what it does when nobody says otherwise. */
export function modelChoices(
  request: ModelRequest,
  tools: readonly CallableTool[],
  answer: string,
): readonly Choice<ModelAct>[] {
  const [first] = tools
  const broken = request.responseFormat === undefined ? [] : [formless]
  return [
    answering(answer),
    ...tools.flatMap(callsOf),
    ...pairsOf(tools).map(([a, b]) => calling(`call ${a.name} + ${b.name}`, pairOfCalls(a, b))),
    calling('call unknown', [{ name: NO_TOOL, arguments: {} }]),
    ...(first === undefined ? [] : [brokenCall(first), cutOffCall(first)]),
    empty,
    ...broken,
    cutOff,
    refusal,
    ...failures,
    tooLong,
    hang,
    cancel('The run is cancelled while the model writes.'),
    ...(first === undefined ? [] : habits(first)),
  ]
}

/** What a model can do in the closing call. */
export function closingChoices(
  request: ModelRequest,
  tools: readonly CallableTool[],
  answer: string,
): readonly Choice<ModelAct>[] {
  const broken = request.responseFormat === undefined ? [] : [formless]
  return [
    answering(answer),
    ...tools.slice(0, 1).map((tool) => calling(`call ${tool.name}`, [callOf(tool)])),
    empty,
    ...broken,
    refusal,
    ...failures,
    tooLong,
    hang,
    cancel('The run is cancelled while the model writes its closing answer.'),
  ]
}

/** What can come of a tool call. `results` are the user's own. */
export function toolChoices(
  { name, place }: { readonly name: string; readonly place: string },
  results: readonly unknown[],
): readonly Choice<ToolAct>[] {
  const fresh = results[stepOf(place) % results.length] ?? `${name} gives the result ${place}.`
  const same = results[0] ?? `${name} gives the same result as ever.`
  return [
    { name: 'ok', told: `${name} returns ${shown(fresh)}`, act: { returns: fresh } },
    { name: 'same', told: `${name} returns ${shown(same)}, whenever it does so.`, act: { returns: same } },
    { name: 'throws', told: `${name} throws.`, act: { throws: new Error(`${name} is out of order`) } },
    { name: 'huge', told: `${name} returns ${HUGE_LENGTH} characters.`, act: { returns: hugeText } },
    { name: 'hang', told: `${name} does not come back, and does not listen to its signal.`, act: NEVER },
    cancel(`The run is cancelled while ${name} works.`),
  ]
}

export const approvalChoices = (name: string): readonly Choice<boolean>[] => [
  { name: 'approve', told: `A person approves the call of ${name}.`, act: true },
  { name: 'reject', told: `A person rejects the call of ${name}.`, act: false },
]

export const waitChoices: readonly Choice<'pass' | typeof CANCEL>[] = [
  { name: 'wait', told: 'The wait before the next attempt passes.', act: 'pass' },
  cancel('The run is cancelled during the wait before the next attempt.'),
]

const hugeText = 'all work and no play '.repeat(HUGE_LENGTH / 20).slice(0, HUGE_LENGTH)

const empty: Choice<ModelAct> = { name: 'empty', told: 'The model gives an empty reply.', act: '' }
const formless: Choice<ModelAct> = {
  name: 'formless',
  told: 'The model answers in prose, not in the form that was asked for.',
  act: 'Let me think about that.',
}
const cutOff: Choice<ModelAct> = {
  name: 'cut off',
  told: "The model's answer is cut off at the output limit.",
  act: { text: 'The answer is', finish: 'length' },
}
const refusal: Choice<ModelAct> = {
  name: 'refusal',
  told: 'The model refuses.',
  act: { refusal: 'I cannot help with that.' },
}
const failures: readonly Choice<ModelAct>[] = [
  {
    name: 'busy',
    told: 'The model call fails with an error that may pass.',
    act: new ModelError('overloaded', 'the scripted model is busy', { retryable: true }),
  },
  {
    name: 'failure',
    told: 'The model call fails for good.',
    act: new ModelError('authentication', 'the scripted model fails for good', { retryable: false }),
  },
]
const tooLong: Choice<ModelAct> = {
  name: 'too long',
  told: 'The provider says that the conversation is too long.',
  act: new ModelError('context_too_long', 'the scripted model has no room', { retryable: false }),
}
const hang: Choice<ModelAct> = {
  name: 'hang',
  told: 'The model does not answer, and does not listen to its signal.',
  act: NEVER,
}

function cancel(told: string): Choice<typeof CANCEL> {
  return { name: 'cancel', told, act: CANCEL }
}

function answering(text: string): Choice<ModelAct> {
  return { name: 'answer', told: `The model answers ${shown(text)}`, act: text }
}

function calling(name: string, calls: readonly ScriptedCall[]): Choice<ModelAct> {
  const told = calls.map((call) => `${call.name}(${shortened(JSON.stringify(call.arguments))})`).join(' and ')
  return { name, told: `The model calls ${told}.`, act: { calls } }
}

function brokenCall({ name }: CallableTool): Choice<ModelAct> {
  return {
    name: 'bad arguments',
    told: `The model calls ${name} with arguments that are not JSON.`,
    act: { calls: [{ name, arguments: '{"broken": ' }] },
  }
}

function cutOffCall(tool: CallableTool): Choice<ModelAct> {
  return {
    name: 'cut-off call',
    told: `The model calls ${tool.name}, and its reply is cut off at the output limit.`,
    act: { calls: [callOf(tool)], finish: 'length' },
  }
}

function habits(tool: CallableTool): readonly Choice<ModelAct>[] {
  const step: ScriptedStep = { calls: [callOf(tool)] }
  return [
    {
      name: 'goes on',
      told: `From here on the model calls ${tool.name} whenever it may, and each result is new.`,
      act: { habit: 'goes on', step },
    },
    {
      name: 'loops',
      told: `From here on the model calls ${tool.name} whenever it may, and the result is always the same.`,
      act: { habit: 'loops', step },
    },
  ]
}

/** A call with each of its samples: `call add`, `call add 2`. */
function callsOf(tool: CallableTool): readonly Choice<ModelAct>[] {
  return tool.samples.map((_sample, i) =>
    calling(`call ${tool.name}${i === 0 ? '' : ` ${i + 1}`}`, [callOf(tool, i)]),
  )
}

/** Each tool beside the next one; a tool that is alone beside itself. */
function pairsOf(tools: readonly CallableTool[]): readonly (readonly [CallableTool, CallableTool])[] {
  const pairs = tools.map((tool, i) => [tool, tools[(i + 1) % tools.length] ?? tool] as const)
  // Of two tools, the pair in one order says what the other would.
  return tools.length === 2 ? pairs.slice(0, 1) : pairs
}

function pairOfCalls(a: CallableTool, b: CallableTool): readonly ScriptedCall[] {
  return a === b ? [callOf(a), callOf(a, 1)] : [callOf(a), callOf(b)]
}

function callOf({ name, samples }: CallableTool, index = 0): ScriptedCall {
  return { name, arguments: samples[index % samples.length] }
}

/** The step of a place such as `tool.3.0`. */
function stepOf(place: string): number {
  return Number(place.split('.')[1] ?? 0)
}

function shown(value: unknown): string {
  return shortened(
    typeof value === 'string' ? JSON.stringify(value) : (JSON.stringify(value) ?? String(value)),
  )
}

function shortened(text: string): string {
  return text.length <= 80 ? text : `${text.slice(0, 80).replace(/[\ud800-\udbff]$/, '')}…`
}
