import { assign, type EventObject, type MetaObject, type StateMachine, type StateSchema, setup } from 'xstate'

/**
 * What the loop should do, written down again as a machine without effects. It knows nothing of the real one; the
 * path tests drive both with the same events and compare.
 */
export interface Bounds {
  readonly steps: number
  readonly errorStreak: number
  readonly malformed: number
  readonly toolCalls: number
  readonly modelRetries: number
  /** Whether there is a deadline for the run. */
  readonly timed: boolean
  readonly runApprovedFirst: boolean
  /** Whether the memory wants to make room after every step with calls. */
  readonly isOverBudget: boolean
}

export const base: Bounds = {
  steps: 3,
  errorStreak: 2,
  malformed: 2,
  toolCalls: Number.POSITIVE_INFINITY,
  modelRetries: 1,
  timed: false,
  runApprovedFirst: false,
  isOverBudget: false,
}

export type SpecEvent =
  | { type: 'ANSWER' }
  | { type: 'EMPTY' }
  | { type: 'REFUSED' }
  | { type: 'CALLS'; count: 1 | 2 | 3 }
  | { type: 'CALLS_CUT_OFF' }
  | { type: 'CALL_NEEDING_APPROVAL' }
  /** Two calls, of which a person has to decide on the second. */
  | { type: 'CALLS_OF_BOTH_KINDS' }
  | { type: 'BUSY' }
  | { type: 'FAIL' }
  /** The provider finds the conversation too long. */
  | { type: 'TOO_LONG' }
  | { type: 'SLEPT' }
  | { type: 'TOOL'; position: 0 | 1 | 2; ok: boolean }
  | { type: 'APPROVE' }
  | { type: 'REJECT' }
  | { type: 'COMPACTED' }
  | { type: 'COMPACTION_FAILED' }
  /** Nothing could be made to fit. */
  | { type: 'EXHAUSTED' }
  | { type: 'SEND' }
  | { type: 'SHORT_OF_TIME' }
  | { type: 'OUT_OF_TIME' }
  | { type: 'CLOCK_BREAKS' }
  | { type: 'CANCEL' }

/** What came of each call of a step. `cut` was cut off, `refused` was beyond the limit of tool calls. */
type Result = 'pending' | 'open' | 'ok' | 'failed' | 'cut' | 'denied' | 'refused'

export interface SpecContext {
  readonly step: number
  readonly attempt: number
  readonly malformed: number
  readonly streak: number
  /** Failures without a success since, by the tool of each position and its error. */
  readonly failing: Readonly<Record<string, number>>
  readonly executed: number
  readonly results: readonly Result[]
  /** Whether a message waits for the next step. */
  readonly sent: boolean
  /** Whether room has been made because the provider found the conversation too long. */
  readonly madeRoom: boolean
  /** Deadlines that have passed, or will never. */
  readonly over: readonly ('short' | 'out')[]
  readonly limit: 'steps' | 'errorStreak' | 'malformed' | 'toolCalls' | 'time' | undefined
  readonly reason: string | undefined
}

export type SpecState =
  | 'starting'
  | 'calling'
  | 'backingOff'
  | 'awaitingApproval'
  | 'executingTools'
  | 'judging'
  | 'compacting'
  | 'leaving'
  | { concluding: 'asking' | 'backingOff' | 'compacting' }
  | 'done'
  | 'aborted'

interface Args {
  readonly context: SpecContext
  readonly event: SpecEvent
}

function replaced(results: readonly Result[], position: number, result: Result): Result[] {
  return results.map((before, i) => (i === position ? result : before))
}

/**
 * The failures after a step, in the order of its calls, and the most of those to which the step added. A call that did
 * not run is no failure: one that was cut off, that a person refused, or that no limit let run.
 */
function failuresAfter({ streak: before, failing: failingBefore, results }: SpecContext) {
  let streak = before
  const failing = { ...failingBefore }
  for (const [tool, result] of results.entries()) {
    if (result === 'ok') {
      streak = 0
      delete failing[`${tool} failed`]
    } else if (result === 'failed') {
      streak++
      const key = `${tool} ${result}`
      failing[key] = (failing[key] ?? 0) + 1
    }
  }
  const added = results.flatMap((result, tool) => failing[`${tool} ${result}`] ?? [])
  return { streak, failing, worst: added.length === 0 ? 0 : Math.max(streak, ...added) }
}

const begun: readonly Result[] = ['open', 'ok', 'failed']

function executedAfter({ executed, results }: SpecContext): number {
  return executed + results.filter((result) => begun.includes(result)).length
}

const isOpen = ({ context, event }: Args): boolean =>
  event.type === 'TOOL' && context.results[event.position] === 'open'
const isPending = ({ context }: Args): boolean => context.results.includes('pending')
const isSettled = ({ context }: Args): boolean =>
  !context.results.some((result) => result === 'open' || result === 'pending')
const onlyPendingLeft = ({ context }: Args): boolean =>
  context.results.includes('pending') && !context.results.includes('open')

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

export function specOf(bounds: Bounds): SpecMachine {
  const retriesLeft = ({ context }: Args): boolean => context.attempt <= bounds.modelRetries
  /** Calls beyond the limit do not run. */
  const opened = ({ context: { executed } }: Args, count: number): Result[] =>
    Array.from({ length: count }, (_, i) => (executed + i < bounds.toolCalls ? 'open' : 'refused'))
  /** Where the run goes after a step in which a limit may have fired. */
  const leaving = [
    { guard: ({ context }: Args) => context.limit === 'malformed', ...abortedBecause('malformed') },
    { guard: ({ context }: Args) => context.limit !== undefined, target: '#spec.concluding' },
    { target: '#spec.calling', actions: 'beginStep' },
  ] as const

  return setup({
    types: { context: {} as SpecContext, events: {} as SpecEvent },
    actions: {
      because: assign((_, reason: string) => ({ reason })),
      beginStep: assign(({ context }) => ({ step: context.step + 1, attempt: 1, sent: false })),
      judge: assign(({ context }) => {
        const { streak, failing, worst } = failuresAfter(context)
        const executed = executedAfter(context)
        const limit =
          context.malformed >= bounds.malformed
            ? 'malformed'
            : worst >= bounds.errorStreak
              ? 'errorStreak'
              : executed >= bounds.toolCalls
                ? 'toolCalls'
                : context.step >= bounds.steps
                  ? 'steps'
                  : undefined
        return { streak, failing, executed, limit, results: [] }
      }),
    },
  }).createMachine({
    id: 'spec',
    context: {
      step: 0,
      attempt: 1,
      malformed: 0,
      streak: 0,
      failing: {},
      executed: 0,
      results: [],
      sent: false,
      madeRoom: false,
      over: bounds.timed ? [] : ['short', 'out'],
      limit: undefined,
      reason: undefined,
    },
    initial: 'starting',
    on: {
      CANCEL: abortedBecause('cancelled'),
      SEND: { guard: ({ context }) => !context.sent, actions: assign({ sent: true }) },
      SHORT_OF_TIME: {
        guard: ({ context }) => !context.over.includes('short'),
        target: '.concluding',
        actions: assign(({ context }) => ({
          over: [...context.over, 'short'],
          limit: context.limit === 'malformed' ? 'time' : (context.limit ?? 'time'),
          executed: executedAfter(context),
          results: [],
        })),
      },
      OUT_OF_TIME: {
        guard: ({ context }) => !context.over.includes('out'),
        target: '.aborted',
        actions: assign({ limit: 'time', reason: 'timeout' }),
      },
      CLOCK_BREAKS: {
        guard: ({ context }) => !context.over.includes('short'),
        actions: assign({ over: ({ context }) => [...context.over, 'short'] }),
      },
    },
    states: {
      starting: {
        always: [
          { guard: () => bounds.isOverBudget, target: 'compacting' },
          { target: 'calling', actions: 'beginStep' },
        ],
      },
      calling: {
        on: {
          ANSWER: [
            { guard: ({ context }) => !context.sent, target: 'done' },
            { target: 'judging', actions: assign({ malformed: 0 }) },
          ],
          REFUSED: abortedBecause('content_filter'),
          EMPTY: {
            target: 'judging',
            actions: assign({ malformed: ({ context }) => context.malformed + 1 }),
          },
          CALLS: {
            target: 'executingTools',
            actions: assign({ malformed: 0, results: (args) => opened(args, args.event.count) }),
          },
          CALLS_CUT_OFF: {
            target: 'recording',
            actions: assign({
              malformed: ({ context }) => context.malformed + 1,
              results: ['cut'],
            }),
          },
          CALL_NEEDING_APPROVAL: {
            target: 'awaitingApproval',
            actions: assign({ malformed: 0, results: ['pending'] }),
          },
          CALLS_OF_BOTH_KINDS: {
            target: bounds.runApprovedFirst ? 'executingTools' : 'awaitingApproval',
            actions: assign({ malformed: 0, results: ['open', 'pending'] }),
          },
          BUSY: [{ guard: retriesLeft, target: 'backingOff' }, abortedBecause('model_error')],
          FAIL: abortedBecause('model_error'),
          TOO_LONG: [
            {
              guard: ({ context }) => !context.madeRoom,
              target: 'compacting',
              actions: [assign({ madeRoom: true }), 'judge'],
            },
            abortedBecause('context_exhausted'),
          ],
        },
      },
      backingOff: {
        on: {
          SLEPT: { target: 'calling', actions: assign({ attempt: ({ context }) => context.attempt + 1 }) },
        },
      },
      awaitingApproval: {
        on: {
          APPROVE: {
            target: 'executingTools',
            actions: assign({
              results: ({ context }) => replaced(context.results, context.results.indexOf('pending'), 'open'),
            }),
          },
          REJECT: {
            target: 'executingTools',
            actions: assign({
              results: ({ context }) =>
                replaced(context.results, context.results.indexOf('pending'), 'denied'),
            }),
          },
        },
      },
      executingTools: {
        on: {
          TOOL: {
            guard: isOpen,
            actions: assign({
              results: ({ context, event }) =>
                replaced(context.results, event.position, event.ok ? 'ok' : 'failed'),
            }),
          },
          APPROVE: {
            guard: isPending,
            actions: assign({
              results: ({ context }) => replaced(context.results, context.results.indexOf('pending'), 'open'),
            }),
          },
          REJECT: {
            guard: isPending,
            actions: assign({
              results: ({ context }) =>
                replaced(context.results, context.results.indexOf('pending'), 'denied'),
            }),
          },
        },
        always: [
          { guard: isSettled, target: 'recording' },
          { guard: onlyPendingLeft, target: 'awaitingApproval' },
        ],
      },
      recording: {
        entry: 'judge',
        always: [
          {
            guard: ({ context }) => context.limit !== 'malformed' && bounds.isOverBudget,
            target: 'compacting',
          },
          { target: 'leaving' },
        ],
      },
      judging: { entry: 'judge', always: 'leaving' },
      compacting: {
        on: {
          COMPACTED: 'leaving',
          COMPACTION_FAILED: 'leaving',
          EXHAUSTED: abortedBecause('context_exhausted'),
        },
      },
      leaving: { always: leaving },
      concluding: {
        entry: assign({ attempt: 1, sent: false }),
        initial: 'asking',
        // It concludes already, and nothing else matters any more.
        on: {
          SHORT_OF_TIME: {
            guard: ({ context }) => !context.over.includes('short'),
            actions: assign({ over: ({ context }) => [...context.over, 'short'] }),
          },
        },
        states: {
          asking: {
            on: {
              ANSWER: '#spec.done',
              EMPTY: abortedBecause('no_closing_answer'),
              CALLS: abortedBecause('no_closing_answer'),
              BUSY: [{ guard: retriesLeft, target: 'backingOff' }, abortedBecause('no_closing_answer')],
              FAIL: abortedBecause('no_closing_answer'),
              TOO_LONG: [
                {
                  guard: ({ context }) => !context.madeRoom,
                  target: 'compacting',
                  actions: assign({ madeRoom: true }),
                },
                abortedBecause('no_closing_answer'),
              ],
            },
          },
          compacting: {
            on: {
              COMPACTED: { target: '#spec.concluding', reenter: true },
              COMPACTION_FAILED: { target: '#spec.concluding', reenter: true },
              EXHAUSTED: abortedBecause('context_exhausted'),
            },
          },
          backingOff: {
            on: {
              SLEPT: { target: 'asking', actions: assign({ attempt: ({ context }) => context.attempt + 1 }) },
            },
          },
        },
      },
      done: { type: 'final' },
      aborted: { type: 'final' },
    },
  }) as unknown as SpecMachine
}
