import {
  type AnyActorRef,
  assign,
  type EventObject,
  fromPromise,
  type MetaObject,
  type ParameterizedObject,
  type PromiseActorLogic,
  type StateMachine,
  setup,
} from 'xstate'
import { MisuseError } from '../errors.ts'
import type { UserMessage } from '../messages/types.ts'
import { type AgentContext, type AgentInput, startingContext } from './context.ts'
import type {
  CallModelInput,
  CompactInput,
  Compaction,
  EffectKind,
  EffectMap,
  ModelTurn,
  RunToolInput,
  SleepInput,
  Spent,
  ToolAnswer,
  WaitUntilInput,
} from './effects.ts'
import * as guards from './guards.ts'
import { noteFor } from './notes.ts'
import { markStarted, startable } from './openCalls.ts'
import { type Ending, endingOf } from './outcome.ts'
import { defaultPolicy, type Policy } from './policy.ts'
import * as reducers from './reducers.ts'
import { defaultSettings, type RunSettings } from './settings.ts'
import { spendAll } from './spending.ts'

/** What the machine can be told from outside, beside the settling of its actors. */
export type AgentMachineEvent = Timed &
  (
    | CancelEvent
    | { readonly type: 'DECIDE'; readonly decision: reducers.Decision }
    /** A message of the user's for a run under way: the model reads it with the next step. */
    | { readonly type: 'SEND'; readonly message: UserMessage }
    | {
        readonly type: `xstate.done.actor.tool.${string}`
        readonly output: ToolAnswer
        readonly actorId: string
      }
    | {
        readonly type: `xstate.error.actor.tool.${string}`
        readonly error: unknown
        readonly actorId: string
      }
    | ({ readonly type: `xstate.done.actor.deadline.${Deadline}` } & CutShort)
    | { readonly type: `xstate.error.actor.deadline.${Deadline}` }
  )

/** What the calls that an event gives up had spent. Left out where nobody counts, as under `createActor`. */
interface CutShort {
  readonly spent?: readonly Spent[]
}

/** When something happened. The machine has no clock, so it knows only what it is told. */
interface Timed {
  /** Milliseconds since the start of the run. Left out where nobody measures, as under `createActor`. */
  readonly elapsedMs?: number
}

/** The moments at which `time` ends what is under way: to conclude, and to abort. */
type Deadline = 'conclude' | 'abort'

const deadlines: readonly Deadline[] = ['conclude', 'abort']

/** The states of the chart, as `snapshot.value` has them. */
export type AgentState =
  | { thinking: 'calling' | 'backingOff' }
  | 'parsing'
  | 'awaitingApproval'
  | 'executingTools'
  | { observing: 'recording' | 'compacting' | 'judging' }
  | { concluding: 'calling' | 'backingOff' }
  | 'done'
  | 'aborted'

/** The tree of the chart's states, which lets XState type `snapshot.matches(…)`. */
export interface AgentStateSchema {
  id: 'agent'
  states: {
    thinking: { states: { calling: object; backingOff: object } }
    parsing: object
    awaitingApproval: object
    executingTools: object
    observing: { states: { recording: object; compacting: object; judging: object } }
    concluding: { states: { calling: object; backingOff: object } }
    done: object
    aborted: object
  }
}

export interface CancelEvent extends CutShort {
  readonly type: 'CANCEL'
  readonly message?: string
  /** Whether it is time that ran out: the run is then aborted with the reason `timeout`. */
  readonly timedOut?: boolean
}

type EffectActor = {
  [Kind in EffectKind]: {
    src: Kind
    logic: PromiseActorLogic<EffectMap[Kind]['output'], EffectMap[Kind]['input']>
    id: string | undefined
  }
}[EffectKind]

/** The loop as a statechart. An ordinary XState machine: run it, invoke it, inspect it, draw it. */
export type AgentMachine = StateMachine<
  AgentContext,
  AgentMachineEvent,
  Record<string, AnyActorRef | undefined>,
  EffectActor,
  ParameterizedObject,
  ParameterizedObject,
  string,
  AgentState,
  string,
  AgentInput,
  Ending,
  EventObject,
  MetaObject,
  AgentStateSchema
>

/** More transient states in a row than the chart can have: a loop of `always` edges fails instead of spinning. */
const MAX_MICROSTEPS = 100

const base = setup({
  types: {
    context: {} as AgentContext,
    events: {} as AgentMachineEvent,
    input: {} as AgentInput,
    output: {} as Ending,
  },
  actors: {
    callModel: fromPromise<ModelTurn, CallModelInput>(notProvided('callModel')),
    runTool: fromPromise<ToolAnswer, RunToolInput>(notProvided('runTool')),
    compact: fromPromise<Compaction, CompactInput>(notProvided('compact')),
    sleep: fromPromise<undefined, SleepInput>(notProvided('sleep')),
    waitUntil: fromPromise<undefined, WaitUntilInput>(notProvided('waitUntil')),
  },
  guards: {
    isRetryable: ({ context }, { error }: Failure) => guards.isRetryable(context, error),
    isRefused: ({ context }) => guards.isRefused(context),
    needsApproval: ({ context }) => guards.needsApproval(context),
    hasCalls: ({ context }) => guards.hasCalls(context),
    isFinalAnswer: ({ context }) => guards.isFinalAnswer(context),
    isClosingAnswer: (_, turn: ModelTurn) => guards.isClosingAnswer(turn.reply),
    everyCallDecided: ({ context }) => guards.everyCallDecided(context),
    onlyApprovalsLeft: ({ context }) => guards.onlyApprovalsLeft(context),
    everyCallSettled: ({ context }) => guards.everyCallSettled(context),
    isExhausted: (_, compaction: Compaction) => guards.isExhausted(compaction),
    isAtWork: ({ context }) => guards.isAtWork(context),
    limitConcludes: ({ context }) => guards.limitConcludes(context),
    limitAborts: ({ context }) => guards.limitAborts(context),
    // These two are provided by the agent, whose memory knows whether it can make room.
    contextOverBudget: () => false,
    contextTooLong: (_, _failure: Failure) => false,
  },
  actions: {
    beginStep: assign(({ context }) => reducers.beginStep(context)),
    beginClosingCall: assign(({ context }) => reducers.beginClosingCall(context)),
    beginNextAttempt: assign(({ context }) => reducers.beginNextAttempt(context)),
    recordError: assign(({ context }, { error }: Failure) => reducers.recordError(context, error)),
    recordContextTooLong: assign(({ context, event }, { error }: Failure) =>
      reducers.recordContextTooLong(context, error, event.elapsedMs),
    ),
    recordClosingTooLong: assign(({ context }, { error }: Failure) =>
      reducers.recordClosingTooLong(context, error),
    ),
    recordReply: assign(({ context, event }, turn: ModelTurn) =>
      reducers.recordReply(context, turn, event.elapsedMs),
    ),
    recordSent: assign(({ context }, message: UserMessage) => reducers.recordSent(context, message)),
    recordClosingReply: assign(({ context }, turn: ModelTurn) => reducers.recordClosingReply(context, turn)),
    recordDecision: assign(({ context }, decision: reducers.Decision) =>
      reducers.recordDecision(context, decision),
    ),
    settleCall: assign(({ context }, settled: { position: number; answer: ToolAnswer }) =>
      reducers.settleCall(context, settled),
    ),
    recordResults: assign(({ context, event }) => reducers.recordResults(context, event.elapsedMs)),
    recordCompaction: assign(({ context }, compaction: Compaction) =>
      reducers.recordCompaction(context, compaction),
    ),
    abortExhausted: assign(({ context }, compaction: Compaction) =>
      reducers.abortExhausted(context, compaction),
    ),
    abortAfterModelError: assign(({ context }, { error }: Failure) =>
      reducers.abortAfterModelError(context, error),
    ),
    abortAfterRefusal: assign(({ context }) => reducers.abortAfterRefusal(context)),
    abortAfterLimit: assign(({ context }) => reducers.abortAfterLimit(context)),
    abortWithoutClosingAnswer: assign(({ context }, failure: Failure | undefined) =>
      reducers.abortWithoutClosingAnswer(context, failure),
    ),
    countSpent: assign(({ context }, spent: readonly Spent[]) =>
      spendAll(context, spent, context.settings.prices),
    ),
    concludeAfterTime: assign(({ context }) => reducers.concludeAfterTime(context)),
    abortAfterTime: assign(({ context }) => reducers.abortAfterTime(context)),
    cancel: assign(({ context }, { event }: { event: CancelEvent }) => reducers.cancel(context, event)),
  },
})

const loop = base.extend({
  actions: {
    startTools: base.enqueueActions(({ context, enqueue }) => {
      const positions = startable(context.calls)
      for (const position of positions) {
        const input = toolInput(context, position)
        if (input !== undefined) enqueue.spawnChild('runTool', { id: input.place, input })
      }
      if (positions.length > 0) enqueue.assign(markStarted(context, positions))
    }),
    startDeadlines: base.enqueueActions(({ context, enqueue }) => {
      for (const deadline of deadlines) {
        const dueMs = context.settings.limits.time[deadline]
        const id = `deadline.${deadline}`
        if (dueMs !== undefined) enqueue.spawnChild('waitUntil', { id, input: { place: id, dueMs } })
      }
    }),
    // A finished child stays in the snapshot, and every later transition would copy it.
    stopTools: base.enqueueActions(({ context, enqueue }) => {
      for (const [position, { started }] of context.calls.entries()) {
        if (started === true) enqueue.stopChild(toolPlace(context, position))
      }
    }),
  },
})

/** What went wrong in an actor. */
interface Failure {
  readonly error: unknown
}

/** Where the run goes after a step, once nothing is left to do in it. */
const afterStep = [
  { guard: 'limitAborts', target: '#agent.aborted', actions: 'abortAfterLimit' },
  { guard: 'limitConcludes', target: '#agent.concluding' },
  { target: '#agent.thinking' },
] as const

/** Before the calls that spent it are given up. */
const countSpent = {
  type: 'countSpent',
  params: ({ event }: { event: CutShort }) => event.spent ?? [],
} as const

const keepMemory = {
  type: 'recordCompaction',
  params: ({ event }: { event: { readonly output: Compaction } }) => event.output,
} as const

/**
 * Builds the loop. Build it once for an agent: building takes longer than a step.
 *
 * @param settings What holds where an input does not say otherwise.
 * @param policy The texts that it speaks with, and limits beside those of the settings.
 */
export function createAgentMachine(
  settings: RunSettings = defaultSettings,
  policy: Policy = defaultPolicy,
): AgentMachine {
  return loop.createMachine({
    id: 'agent',
    context: ({ input }) => startingContext(input, settings, policy),
    options: { maxIterations: MAX_MICROSTEPS },
    // A conversation that is taken up may be too long already.
    initial: 'observing',
    entry: 'startDeadlines',
    on: {
      CANCEL: {
        target: '.aborted',
        actions: [countSpent, { type: 'cancel', params: ({ event }) => ({ event }) }],
      },
      SEND: { actions: { type: 'recordSent', params: ({ event }) => event.message } },
      'xstate.done.actor.deadline.conclude': {
        guard: 'isAtWork',
        target: '.concluding',
        actions: [countSpent, 'concludeAfterTime'],
      },
      'xstate.done.actor.deadline.abort': { target: '.aborted', actions: [countSpent, 'abortAfterTime'] },
      // Without its clock a run is bounded by its other limits.
      'xstate.error.actor.deadline.*': {},
    },
    states: {
      thinking: {
        description: 'The model decides what to do next.',
        entry: 'beginStep',
        initial: 'calling',
        states: {
          calling: {
            invoke: {
              id: 'model',
              src: 'callModel',
              input: ({ context }) => modelInput(context),
              onDone: {
                target: '#agent.parsing',
                actions: { type: 'recordReply', params: ({ event }) => event.output },
              },
              onError: [
                {
                  guard: { type: 'contextTooLong', params: ({ event }) => ({ error: event.error }) },
                  target: '#agent.observing.compacting',
                  actions: { type: 'recordContextTooLong', params: ({ event }) => ({ error: event.error }) },
                },
                {
                  guard: { type: 'isRetryable', params: ({ event }) => ({ error: event.error }) },
                  target: 'backingOff',
                  actions: { type: 'recordError', params: ({ event }) => ({ error: event.error }) },
                },
                {
                  target: '#agent.aborted',
                  actions: { type: 'abortAfterModelError', params: ({ event }) => ({ error: event.error }) },
                },
              ],
            },
          },
          backingOff: {
            description: 'Waiting before the next attempt.',
            invoke: {
              id: 'sleep',
              src: 'sleep',
              input: ({ context }) => sleepInput(context, 'model'),
              onDone: { target: 'calling', actions: 'beginNextAttempt' },
            },
          },
        },
      },
      parsing: {
        description: 'What did the model ask for?',
        always: [
          { guard: 'isRefused', target: 'aborted', actions: 'abortAfterRefusal' },
          { guard: 'needsApproval', target: 'awaitingApproval' },
          { guard: 'hasCalls', target: 'executingTools' },
          { guard: 'isFinalAnswer', target: 'done' },
          ...afterStep,
        ],
      },
      awaitingApproval: {
        description: 'A person decides about calls.',
        on: {
          DECIDE: { actions: { type: 'recordDecision', params: ({ event }) => event.decision } },
        },
        always: { guard: 'everyCallDecided', target: 'executingTools' },
      },
      executingTools: {
        description: 'All calls of the step run, each as an actor of its own.',
        entry: 'startTools',
        exit: 'stopTools',
        on: {
          // Decisions may come while calls that need none still run.
          DECIDE: {
            actions: [{ type: 'recordDecision', params: ({ event }) => event.decision }, 'startTools'],
          },
          'xstate.done.actor.tool.*': {
            actions: [
              {
                type: 'settleCall',
                params: ({ event }) => ({ position: positionOf(event.actorId), answer: event.output }),
              },
              'startTools',
            ],
          },
          'xstate.error.actor.tool.*': {
            actions: [
              {
                type: 'settleCall',
                params: ({ event }) => ({
                  position: positionOf(event.actorId),
                  answer: reducers.failedAnswer(event.error),
                }),
              },
              'startTools',
            ],
          },
        },
        always: [
          { guard: 'everyCallSettled', target: 'observing' },
          { guard: 'onlyApprovalsLeft', target: 'awaitingApproval' },
        ],
      },
      observing: {
        description: 'Results enter the transcript and the limits are judged.',
        initial: 'recording',
        states: {
          recording: {
            entry: 'recordResults',
            always: [
              // A run that is over needs no room.
              { guard: 'limitAborts', target: '#agent.aborted', actions: 'abortAfterLimit' },
              { guard: 'contextOverBudget', target: 'compacting' },
              ...afterStep.slice(1),
            ],
          },
          compacting: {
            description: 'The memory makes room.',
            invoke: {
              id: 'compact',
              src: 'compact',
              input: ({ context }) => compactInput(context),
              onDone: [
                {
                  guard: { type: 'isExhausted', params: ({ event }) => event.output },
                  target: '#agent.aborted',
                  actions: [keepMemory, { type: 'abortExhausted', params: ({ event }) => event.output }],
                },
                { target: 'judging', actions: keepMemory },
              ],
              onError: 'judging',
            },
          },
          judging: {
            description: 'Making room may have cost what was left.',
            always: afterStep,
          },
        },
      },
      concluding: {
        description: 'One last model call, without tools and outside the step budget.',
        entry: 'beginClosingCall',
        initial: 'calling',
        states: {
          calling: {
            invoke: {
              id: 'closing',
              src: 'callModel',
              input: ({ context }) => closingInput(context),
              onDone: [
                {
                  guard: { type: 'isClosingAnswer', params: ({ event }) => event.output },
                  target: '#agent.done',
                  actions: { type: 'recordClosingReply', params: ({ event }) => event.output },
                },
                {
                  target: '#agent.aborted',
                  actions: [
                    { type: 'recordClosingReply', params: ({ event }) => event.output },
                    { type: 'abortWithoutClosingAnswer', params: undefined },
                  ],
                },
              ],
              onError: [
                {
                  guard: { type: 'contextTooLong', params: ({ event }) => ({ error: event.error }) },
                  target: '#agent.observing.compacting',
                  actions: { type: 'recordClosingTooLong', params: ({ event }) => ({ error: event.error }) },
                },
                {
                  guard: { type: 'isRetryable', params: ({ event }) => ({ error: event.error }) },
                  target: 'backingOff',
                  actions: { type: 'recordError', params: ({ event }) => ({ error: event.error }) },
                },
                {
                  target: '#agent.aborted',
                  actions: {
                    type: 'abortWithoutClosingAnswer',
                    params: ({ event }) => ({ error: event.error }),
                  },
                },
              ],
            },
          },
          backingOff: {
            invoke: {
              id: 'sleep',
              src: 'sleep',
              input: ({ context }) => sleepInput(context, 'closing'),
              onDone: { target: 'calling', actions: 'beginNextAttempt' },
            },
          },
        },
      },
      done: { type: 'final' },
      aborted: { type: 'final' },
    },
    output: ({ context }) => endingOf(context),
  })
}

function modelInput(context: AgentContext): CallModelInput {
  const note = noteFor(context)
  return {
    ...requestFacts(context),
    place: `model.${context.step}.${context.attempt}`,
    toolChoice: 'auto',
    ...(note === undefined ? {} : { note }),
  }
}

function closingInput(context: AgentContext): CallModelInput {
  return {
    ...requestFacts(context),
    place: closingPlace(context),
    toolChoice: 'none',
    note: context.policy.texts.closing,
  }
}

function requestFacts({ instructions, transcript, memory, step, attempt, settings }: AgentContext) {
  const retriesLeft = Math.max(0, settings.modelRetries + 1 - attempt)
  return { ...(instructions === undefined ? {} : { instructions }), transcript, memory, step, retriesLeft }
}

/** A closing call for which room had to be made is another one. */
function closingPlace({ closings, attempt }: AgentContext): string {
  return closings > 1 ? `closing.again.${attempt}` : `closing.${attempt}`
}

function sleepInput(context: AgentContext, before: 'model' | 'closing'): SleepInput {
  const { step, attempt, error, settings } = context
  const { modelRetryDelaysMs: delaysMs } = settings
  return {
    place: before === 'model' ? `sleep.${step}.${attempt}` : `sleep.${closingPlace(context)}`,
    failures: attempt,
    ...(error?.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }),
    ...(delaysMs === undefined ? {} : { delaysMs }),
  }
}

function compactInput(context: AgentContext): CompactInput {
  const { step, transcript, memory, instructions, closings, error } = context
  return {
    place: closings === 0 ? `compact.${step}` : 'compact.closing',
    ...(instructions === undefined ? {} : { instructions }),
    transcript,
    memory,
    tooLong: error?.code === 'context_too_long',
  }
}

function toolInput(context: AgentContext, position: number): RunToolInput | undefined {
  const { step, transcript, calls } = context
  const open = calls[position]
  if (open === undefined) return undefined
  const { call } = open
  // The last message is the model's own, with this call in it.
  const asked = transcript.prefix(transcript.length - 1)
  return { place: toolPlace(context, position), call, step, transcript: asked }
}

function toolPlace({ step }: AgentContext, position: number): string {
  return `tool.${step}.${position}`
}

/** The position of a call in its step, from the id of its actor. */
function positionOf(place: string): number {
  return Number(place.slice(place.lastIndexOf('.') + 1))
}

function notProvided(actor: EffectKind): () => Promise<never> {
  return async () => {
    throw new MisuseError(
      'actor_not_provided',
      `The actor "${actor}" is not provided. Use agent.machine, or machine.provide({ actors: { ${actor}: … } }).`,
    )
  }
}
