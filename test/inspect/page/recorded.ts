import { z } from 'zod'
import {
  type AgentEvent,
  type AgentOptions,
  createAgent,
  defineTool,
  type Outcome,
  type Tool,
} from '../../../src/index.ts'
import { emptyView, type RunView } from '../../../src/inspect/page/run/runView.ts'
import { withEvent } from '../../../src/inspect/page/run/withEvent.ts'
import type { InspectedEvent } from '../../../src/inspect/protocol.ts'
import { type ScriptedStep, scriptedModel } from '../../../src/testing/index.ts'

/** A tool that answers at once with what it is told to. */
export const echo: Tool = defineTool({
  name: 'echo',
  description: 'Says what it is told.',
  input: z.object({ say: z.string(), fail: z.boolean().optional() }),
  run: ({ say, fail }) => {
    if (fail === true) throw new Error(say)
    return say
  },
})

/** The same, but a person has to agree. */
export const guarded: Tool = defineTool({
  name: 'guarded',
  description: 'Does something that a person has to agree to.',
  input: z.object({ say: z.string() }),
  needsApproval: true,
  run: ({ say }) => say,
})

/** What a run of an agent with this script tells. */
export async function recorded(
  script: readonly ScriptedStep[],
  options: Partial<AgentOptions> = {},
): Promise<{ readonly events: readonly InspectedEvent[]; readonly outcome: Outcome }> {
  const told: AgentEvent[] = []
  const agent = createAgent({ model: scriptedModel(script), tools: [echo, guarded], ...options })
  const outcome = await agent.run('Go on.', { onEvent: (event) => told.push(event) })
  return { events: numbered(told), outcome }
}

export function numbered(events: readonly AgentEvent[]): readonly InspectedEvent[] {
  return events.map((event, index) => ({ index, event }))
}

export function folded(events: readonly InspectedEvent[]): RunView {
  return events.reduce<RunView>(withEvent, emptyView)
}
