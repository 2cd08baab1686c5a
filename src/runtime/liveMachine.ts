import { randomUUID } from 'node:crypto'
import { type AnyActorRef, fromPromise } from 'xstate'
import type { AgentMachine } from '../machines/agentMachine.ts'
import type { AgentContext } from '../machines/context.ts'
import type { EffectKind, EffectMap } from '../machines/effects.ts'
import { isContextTooLong } from '../machines/guards.ts'
import type { RunTools, Toolbox } from '../tools/toolbox.ts'
import type { Services } from './inProcessHost.ts'

/** What the chart has to know of a memory. Both are total, as guards are. */
export interface RoomKeeper {
  /** Whether there is anything to be done about a conversation that is too long. */
  readonly canMakeRoom: boolean
  needsRoom(context: AgentContext): boolean
}

/**
 * The machine with actors that do the work, so that it runs live: under `createActor`, in any XState inspector, or
 * invoked by a machine of the user's.
 */
export function provideServices(
  machine: AgentMachine,
  services: Services,
  { memory, toolbox }: { readonly memory: RoomKeeper; readonly toolbox: Toolbox },
): AgentMachine {
  return machine.provide({
    actors: {
      callModel: live('callModel'),
      runTool: live('runTool'),
      compact: live('compact'),
      sleep: live('sleep'),
      waitUntil: live('waitUntil'),
    },
    guards: {
      contextOverBudget: ({ context }) => memory.needsRoom(context),
      contextTooLong: ({ context }, failure) =>
        memory.canMakeRoom && isContextTooLong(context, (failure as { error: unknown }).error),
    },
  })

  function live<Kind extends EffectKind>(kind: Kind) {
    return fromPromise<EffectMap[Kind]['output'], EffectMap[Kind]['input']>(({ input, signal, self }) =>
      services[kind](input, {
        signal,
        ...liveRunOf(self, toolbox),
        context: undefined,
        watched: false,
        report: () => {},
      }),
    )
  }
}

interface LiveRun {
  readonly runId: string
  readonly tools: RunTools
  elapsedMs(): number
}

const liveRuns = new WeakMap<AnyActorRef, LiveRun>()

/** What is the same for all actors of a live run: an id unlike any other's, for idempotency keys, and its tools. */
function liveRunOf(effect: AnyActorRef, toolbox: Toolbox): LiveRun {
  const run = effect._parent ?? effect
  const known = liveRuns.get(run) ?? newLiveRun(toolbox)
  liveRuns.set(run, known)
  return known
}

/** It begins with its first actor. */
function newLiveRun(toolbox: Toolbox): LiveRun {
  const startedAt = performance.now()
  return {
    runId: randomUUID(),
    tools: toolbox.forRun(),
    elapsedMs: () => performance.now() - startedAt,
  }
}
