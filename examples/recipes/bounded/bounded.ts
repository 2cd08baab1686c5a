// The loop with a registry that changes while it runs, a small memory, and an end for every way of going round in circles.
//
//   node examples/recipes/bounded/bounded.ts

import type { Agent, Model, Tool, ToolDefinition } from 'loopchart'
import { compose, createAgent, defineTool, outline, tokenBudget } from 'loopchart'
import { z } from 'zod'
import { withModel } from '../withModel.ts'

/** Each call is tried once more by itself, at once, and given up after 10 s. */
export const patient: Pick<ToolDefinition, 'retryDelaysMs' | 'isTransient' | 'timeoutMs'> = {
  retryDelaysMs: [0],
  isTransient: () => true,
  timeoutMs: 10_000,
}

const temperatures: Readonly<Record<string, number>> = { Paris: 21, Oslo: 9 }

export const weather: Tool = defineTool({
  ...patient,
  name: 'get_weather',
  description: 'Current weather of a city.',
  input: z.object({ city: z.string() }),
  run: ({ city }) => ({ city, temperature: temperatures[city] ?? 'unknown' }),
})

/** @param registry The tools by name; what is added or removed counts from the next step on. */
export function bounded(model: Model, registry: ReadonlyMap<string, Tool>): Agent {
  return createAgent({
    model,
    tools: () => [...registry.values()],
    instructions: 'Answer briefly.',
    memory: compose(tokenBudget(2000), outline()),
    limits: {
      steps: 5,
      errorStreak: 2,
      sameCalls: { abort: 2, inARow: true },
      stagnation: { conclude: 1 },
    },
  })
}

export async function main(): Promise<void> {
  await withModel(async (model) => {
    const registry = new Map([[weather.name, weather]])
    const agent = bounded(model, registry)
    for (const question of ['What is the weather in Paris?', 'And the weather in Oslo?']) {
      const outcome = await agent.run(question)
      console.log(outcome.status === 'done' ? outcome.output : outcome)
      registry.delete(weather.name)
    }
  })
}

if (process.argv[1] === import.meta.filename) await main()
