import { type Actor, createActor, fromPromise } from 'xstate'
import { ModelError, type ToolCall } from '../../src/index.ts'
import {
  type AgentMachine,
  type CallModelInput,
  createAgentMachine,
  type ModelTurn,
  type RunToolInput,
  type SleepInput,
  type ToolAnswer,
} from '../../src/machines/index.ts'
import { resolveSettings } from '../../src/machines/settings.ts'
import { bounds, type SpecEvent } from './specModel.ts'

type Settle = { resolve(output: unknown): void; reject(error: unknown): void }

/** The real machine, live, with actors that wait to be told how they settle. */
export class ScriptedActor {
  readonly actor: Actor<AgentMachine>
  /** Effects under way, by place. */
  readonly open: Map<string, Settle> = new Map()
  readonly taken: Set<string> = new Set()

  constructor(machine: AgentMachine = createAgentMachine(settings)) {
    this.actor = createActor(
      machine.provide({
        actors: {
          callModel: fromPromise<ModelTurn, CallModelInput>(({ input, signal }) =>
            this.#wait(input.place, signal),
          ),
          runTool: fromPromise<ToolAnswer, RunToolInput>(({ input, signal }) =>
            this.#wait(input.place, signal),
          ),
          sleep: fromPromise<undefined, SleepInput>(({ input, signal }) => this.#wait(input.place, signal)),
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

  /** Makes the event of the spec happen in the real machine. */
  async send(event: SpecEvent): Promise<void> {
    switch (event.type) {
      case 'ANSWER':
        this.#settle('model', turn('The answer.'))
        break
      case 'EMPTY':
        this.#settle('model', turn(''))
        break
      case 'REFUSED':
        this.#settle('model', { ...turn(''), reply: { ...turn('').reply, finish: 'content_filter' } })
        break
      case 'CALLS':
        this.#settle('model', turn('', event.count))
        break
      case 'CALLS_CUT_OFF':
        this.#settle('model', { ...turn('', 1), reply: { ...turn('', 1).reply, finish: 'length' } })
        break
      case 'CALL_NEEDING_APPROVAL':
        this.#settle('model', { ...turn('', 1), needsApproval: [0] })
        break
      case 'BUSY':
        this.#fail('model', new ModelError('overloaded', 'busy', { retryable: true }))
        break
      case 'FAIL':
        this.#fail('model', new ModelError('bad_request', 'no', { retryable: false }))
        break
      case 'SLEPT':
        this.#settle('sleep', undefined)
        break
      case 'TOOL':
        if (event.ok) this.#settle(`.${event.position}`, { content: 'ok' }, 'tool')
        else if (event.position === 0) this.#settle('.0', { content: 'Error', error: 'failed' }, 'tool')
        else this.#fail('.1', new Error('an actor that rejects'), 'tool')
        break
      case 'APPROVE':
      case 'REJECT': {
        const pending = this.actor.getSnapshot().context.calls.find(({ approval }) => approval === 'pending')
        if (pending === undefined) throw new Error('nothing waits for approval')
        this.actor.send({
          type: 'DECIDE',
          decision: { callId: pending.call.id, approved: event.type === 'APPROVE' },
        })
        break
      }
      case 'CANCEL':
        this.actor.send({ type: 'CANCEL' })
        break
    }
    // Promise actors report after their promise has settled.
    await new Promise(setImmediate)
  }

  #wait(place: string, signal: AbortSignal): Promise<never> {
    return new Promise((resolve, reject) => {
      this.open.set(place, { resolve: resolve as Settle['resolve'], reject })
      signal.addEventListener('abort', () => this.open.delete(place))
    })
  }

  #settle(part: string, output: unknown, kind = part): void {
    this.#take(part, kind).resolve(output)
  }

  #fail(part: string, error: unknown, kind = part): void {
    this.#take(part, kind).reject(error)
  }

  #take(part: string, kind: string): Settle {
    const kinds = kind === 'model' ? ['model', 'closing'] : [kind]
    for (const [place, settle] of this.open) {
      if (kinds.some((start) => place.startsWith(start)) && (kind === part || place.endsWith(part))) {
        this.open.delete(place)
        return settle
      }
    }
    throw new Error(
      `no effect "${kind}${part === kind ? '' : part}" is under way, only ${[...this.open.keys()]}`,
    )
  }
}

const { modelRetries, ...limits } = bounds
const settings = resolveSettings({ limits, modelRetries })

function turn(text: string, calls = 0): ModelTurn {
  const toolCalls = Array.from(
    { length: calls },
    (_, i): ToolCall => ({
      id: `call${i}`,
      type: 'function',
      function: { name: 'tool', arguments: `{"i":${i}}` },
    }),
  )
  return {
    needsApproval: [],
    reply: {
      text,
      toolCalls,
      finish: calls > 0 ? 'tool_calls' : 'stop',
      usage: { inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 },
      message: {
        role: 'assistant',
        content: text === '' ? null : text,
        ...(calls > 0 ? { tool_calls: toolCalls } : {}),
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
