// The loop whose tool results all look the same, {"success": …}, with parallel calls and a report of each step.
//
//   node examples/recipes/envelope/envelope.ts

import type { Agent, AgentEvent, Model, Tool } from 'loopchart'
import { createAgent, defineTool, resultEnvelope, turns } from 'loopchart'
import { z } from 'zod'
import { withModel } from '../withModel.ts'

const temperatures: Readonly<Record<string, number>> = { Paris: 21, Oslo: 9 }

const weather = defineTool({
  name: 'get_weather',
  description: 'Current weather of a city.',
  input: z.object({ city: z.string() }),
  run: ({ city }) => {
    if (!Object.hasOwn(temperatures, city)) throw new Error(`there is no station in ${city}`)
    return { city, temperature: temperatures[city] }
  },
})

/** @param tools What the model may call. Default: the weather of two cities. */
export function envelope(model: Model, tools: readonly Tool[] = [weather]): Agent {
  return createAgent({
    model,
    tools,
    instructions:
      'Every tool result is {"success": true, "result": …} or {"success": false, "error": …}. ' +
      'Do not repeat a call that failed: change its arguments, use another tool, or say what is missing.',
    resultFormat: resultEnvelope,
    memory: turns(10),
    modelTimeoutMs: 30_000,
    modelRetryDelaysMs: [1000, 2000, 4000],
  })
}

/** What a step took and how it ended; nothing for other events. */
export function reportOf(event: AgentEvent): string | undefined {
  if (event.type !== 'model.finished') return undefined
  const { place, durationMs, reply } = event
  return `${place}: ${Math.round(durationMs)} ms, ${reply.finish}, ${reply.toolCalls.length} calls`
}

export async function main(): Promise<void> {
  await withModel(async (model) => {
    const outcome = await envelope(model).run('What is the weather in Paris, and what is it in Oslo?', {
      onEvent(event) {
        const report = reportOf(event)
        if (report !== undefined) console.log(report)
      },
    })
    console.log(outcome.status === 'done' ? outcome.output : outcome)
  })
}

if (process.argv[1] === import.meta.filename) await main()
