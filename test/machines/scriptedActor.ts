import { type Actor, createActor, fromPromise, type Snapshot } from 'xstate'
import { ModelError, type ToolCall, type Usage } from '../../src/index.ts'
import {
  type AgentMachine,
  type CallModelInput,
  type CompactInput,
  type Compaction,
  createAgentMachine,
  type ModelTurn,
  type RunSettings,
  type RunToolInput,
  type SleepInput,
  type ToolAnswer,
  type WaitUntilInput,
} from '../../src/machines/index.ts'

type Settle = { resolve(output: unknown): void; reject(error: unknown): void }

/** The real machine, live, with actors that wait to be told how they settle. */
export class ScriptedActor {
  readonly actor: Actor<AgentMachine>
  /** Effects under way, by place. */
  readonly open: Map<string, Settle> = new Map()
  readonly taken: Set<string> = new Set()
  /** How often the model was asked. */
  asked = 0

  /** @param isOverBudget After which steps the memory wants to make room. */
  constructor(settings: RunSettings, isOverBudget: (step: number) => boolean = () => false) {
    const waiting = <Input extends { readonly place: string }, Output>() =>
      fromPromise<Output, Input>(({ input, signal }) => this.#wait(input.place, signal))
    this.actor = createActor(
      createAgentMachine(settings).provide({
        actors: {
          callModel: waiting<CallModelInput, ModelTurn>(),
          runTool: waiting<RunToolInput, ToolAnswer>(),
          compact: waiting<CompactInput, Compaction>(),
          sleep: waiting<SleepInput, undefined>(),
          waitUntil: waiting<WaitUntilInput, undefined>(),
        },
        guards: {
          contextOverBudget: ({ context }) => isOverBudget(context.step),
          contextTooLong: ({ context }, failure) =>
            !context.madeRoom && (failure as { error: ModelError }).error.code === 'context_too_long',
        },
      }),
      {
        input: 'go',
        inspect: (event) => {
          if (event.type !== '@xstate.microstep') return
          for (const transition of event._transitions) this.taken.add(transitionId(transition))
        },
      },
    )
    this.actor.start()
  }

  get snapshot(): ReturnType<Actor<AgentMachine>['getSnapshot']> & Snapshot<unknown> {
    return this.actor.getSnapshot()
  }

  /** Settles the one effect under way whose place begins and ends so. */
  settle(output: unknown, begins: readonly string[], ends = ''): void {
    this.#take(begins, ends).resolve(output)
  }

  /** Lets that effect fail. */
  fail(error: unknown, begins: readonly string[], ends = ''): void {
    this.#take(begins, ends).reject(error)
  }

  /** Resolves once the machine has heard of what has settled: promise actors report after their promise. */
  async heard(): Promise<void> {
    await new Promise(setImmediate)
  }

  #wait(place: string, signal: AbortSignal): Promise<never> {
    if (MODEL.some((begin) => place.startsWith(begin))) this.asked++
    return new Promise((resolve, reject) => {
      this.open.set(place, { resolve: resolve as Settle['resolve'], reject })
      signal.addEventListener('abort', () => this.open.delete(place))
    })
  }

  #take(begins: readonly string[], ends: string): Settle {
    for (const [place, settle] of this.open) {
      if (!begins.some((begin) => place.startsWith(begin)) || !place.endsWith(ends)) continue
      this.open.delete(place)
      return settle
    }
    throw new Error(`no effect ${begins.join(' or ')} … ${ends} is under way, only ${[...this.open.keys()]}`)
  }
}

export const MODEL: readonly string[] = ['model.', 'closing.']

export const busy: ModelError = new ModelError('overloaded', 'busy', { retryable: true })
export const refused: ModelError = new ModelError('bad_request', 'no', { retryable: false })
export const tooLong: ModelError = new ModelError('context_too_long', 'too long', { retryable: false })

const noTokens: Usage = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 }

/** A turn of the model: a text, or calls by the names of their tools. */
export function turn(text: string, tools: readonly string[] = []): ModelTurn {
  const toolCalls = tools.map(
    (name, i): ToolCall => ({
      id: `call${i}`,
      type: 'function',
      function: { name, arguments: '{}' },
    }),
  )
  return {
    needsApproval: [],
    reply: {
      text,
      toolCalls,
      finish: tools.length > 0 ? 'tool_calls' : 'stop',
      usage: noTokens,
      message: {
        role: 'assistant',
        content: text === '' ? null : text,
        ...(tools.length > 0 ? { tool_calls: toolCalls } : {}),
      },
    },
  }
}

interface TransitionLike {
  readonly source: { readonly id: string }
  readonly eventType: string
  readonly guard?: unknown
  readonly target?: readonly { readonly id: string }[] | undefined
}

/** Names an edge of the chart, whether it is walked or taken. */
export function transitionId({ source, eventType, guard, target }: TransitionLike): string {
  const name = typeof guard === 'string' ? guard : ((guard as { type?: string } | undefined)?.type ?? '')
  return `${source.id} --${eventType || 'always'}[${name}]--> ${target?.map(({ id }) => id).join(',') ?? '(stays)'}`
}
