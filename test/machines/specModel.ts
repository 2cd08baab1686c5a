import { assign, type EventObject, type MetaObject, type StateMachine, type StateSchema, setup } from 'xstate'

/**
 * What the loop should do, written down again as a machine without effects. It knows nothing of the real one; the
 * path tests drive both with the same events and compare.
 */
export const bounds = { steps: 3, errorStreak: 2, malformed: 2, modelRetries: 1 } as const

export type SpecEvent =
  | { type: 'ANSWER' }
  | { type: 'EMPTY' }
  | { type: 'REFUSED' }
  | { type: 'CALLS'; count: 1 | 2 }
  | { type: 'CALLS_CUT_OFF' }
  | { type: 'CALL_NEEDING_APPROVAL' }
  | { type: 'BUSY' }
  | { type: 'FAIL' }
  | { type: 'SLEPT' }
  | { type: 'TOOL'; position: 0 | 1; ok: boolean }
  | { type: 'APPROVE' }
  | { type: 'REJECT' }
  | { type: 'CANCEL' }

/** Every event that the world can send, with every value that makes a difference. */
export const specEvents: readonly SpecEvent[] = [
  { type: 'ANSWER' },
  { type: 'EMPTY' },
  { type: 'REFUSED' },
  { type: 'CALLS', count: 1 },
  { type: 'CALLS', count: 2 },
  { type: 'CALLS_CUT_OFF' },
  { type: 'CALL_NEEDING_APPROVAL' },
  { type: 'BUSY' },
  { type: 'FAIL' },
  { type: 'SLEPT' },
  { type: 'TOOL', position: 0, ok: true },
  { type: 'TOOL', position: 0, ok: false },
  { type: 'TOOL', position: 1, ok: true },
  { type: 'TOOL', position: 1, ok: false },
  { type: 'APPROVE' },
  { type: 'REJECT' },
  { type: 'CANCEL' },
]

/** What came of each call of a step. */
type Result = 'open' | 'ok' | 'failed' | 'denied'

export interface SpecContext {
  readonly step: number
  readonly attempt: number
  readonly malformed: number
  readonly streak: number
  readonly results: readonly Result[]
  readonly limit: 'steps' | 'errorStreak' | 'malformed' | undefined
  readonly reason: string | undefined
}

export type SpecState =
  | 'calling'
  | 'backingOff'
  | 'awaitingApproval'
  | 'executingTools'
  | 'judging'
  | 'concluding'
  | 'concludingBackingOff'
  | 'done'
  | 'aborted'

function settled(results: readonly Result[], position: number, ok: boolean): Result[] {
  return results.map((result, i) => (i === position ? (ok ? 'ok' : 'failed') : result))
}

/** The streak after a step, in the order of its calls. A person's refusal is no failure. */
function streakAfter(before: number, results: readonly Result[]): number {
  let streak = before
  for (const result of results) {
    if (result === 'ok') streak = 0
    else if (result === 'failed') streak++
  }
  return streak
}

const retriesLeft = ({ context }: { context: SpecContext }): boolean => context.attempt <= bounds.modelRetries
const isOpen = ({ context, event }: { context: SpecContext; event: SpecEvent }): boolean =>
  event.type === 'TOOL' && context.results[event.position] === 'open'
const closesLast = (args: { context: SpecContext; event: SpecEvent }): boolean =>
  isOpen(args) && args.context.results.filter((result) => result === 'open').length === 1

const abortedBecause = <Reason extends string>(reason: Reason) =>
  ({ target: '#spec.aborted', actions: { type: 'because', params: reason } }) as const

export type SpecMachine = StateMachine<
  SpecContext,
  SpecEvent,
  Record<string, never>,
  never,
  never,
  never,
  never,
  SpecState,
  string,
  unknown,
  unknown,
  EventObject,
  MetaObject,
  StateSchema
>

export const spec: SpecMachine = setup({
  types: { context: {} as SpecContext, events: {} as SpecEvent },
  actions: { because: assign((_, reason: string) => ({ reason })) },
}).createMachine({
  id: 'spec',
  context: {
    step: 1,
    attempt: 1,
    malformed: 0,
    streak: 0,
    results: [],
    limit: undefined,
    reason: undefined,
  },
  initial: 'calling',
  on: { CANCEL: abortedBecause('cancelled') },
  states: {
    calling: {
      on: {
        ANSWER: 'done',
        REFUSED: abortedBecause('content_filter'),
        EMPTY: { target: 'judging', actions: assign({ malformed: ({ context }) => context.malformed + 1 }) },
        CALLS: {
          target: 'executingTools',
          actions: assign({
            malformed: 0,
            results: ({ event }) => Array<Result>(event.count).fill('open'),
          }),
        },
        CALLS_CUT_OFF: {
          target: 'judging',
          actions: assign({
            malformed: ({ context }) => context.malformed + 1,
            results: ['failed'],
          }),
        },
        CALL_NEEDING_APPROVAL: {
          target: 'awaitingApproval',
          actions: assign({ malformed: 0, results: ['open'] }),
        },
        BUSY: [{ guard: retriesLeft, target: 'backingOff' }, abortedBecause('model_error')],
        FAIL: abortedBecause('model_error'),
      },
    },
    backingOff: {
      on: {
        SLEPT: { target: 'calling', actions: assign({ attempt: ({ context }) => context.attempt + 1 }) },
      },
    },
    awaitingApproval: {
      on: {
        APPROVE: 'executingTools',
        REJECT: { target: 'judging', actions: assign({ results: ['denied'] }) },
      },
    },
    executingTools: {
      on: {
        TOOL: [
          {
            guard: closesLast,
            target: 'judging',
            actions: assign({
              results: ({ context, event }) => settled(context.results, event.position, event.ok),
            }),
          },
          {
            guard: isOpen,
            actions: assign({
              results: ({ context, event }) => settled(context.results, event.position, event.ok),
            }),
          },
        ],
      },
    },
    judging: {
      entry: assign({
        streak: ({ context }) => streakAfter(context.streak, context.results),
        results: [],
        attempt: 1,
      }),
      always: [
        {
          guard: ({ context }) => context.malformed >= bounds.malformed,
          target: 'aborted',
          actions: assign({ limit: 'malformed', reason: 'malformed' }),
        },
        {
          guard: ({ context }) => context.streak >= bounds.errorStreak,
          target: 'concluding',
          actions: assign({ limit: 'errorStreak' }),
        },
        {
          guard: ({ context }) => context.step >= bounds.steps,
          target: 'concluding',
          actions: assign({ limit: 'steps' }),
        },
        { target: 'calling', actions: assign({ step: ({ context }) => context.step + 1 }) },
      ],
    },
    concluding: {
      on: {
        ANSWER: 'done',
        EMPTY: abortedBecause('no_closing_answer'),
        CALLS: abortedBecause('no_closing_answer'),
        BUSY: [{ guard: retriesLeft, target: 'concludingBackingOff' }, abortedBecause('no_closing_answer')],
        FAIL: abortedBecause('no_closing_answer'),
      },
    },
    concludingBackingOff: {
      on: {
        SLEPT: { target: 'concluding', actions: assign({ attempt: ({ context }) => context.attempt + 1 }) },
      },
    },
    done: { type: 'final' },
    aborted: { type: 'final' },
  },
}) as unknown as SpecMachine
