// The loop of the tool-calling tutorials: a registry, validated arguments, a window of turns, a bound on everything.
//
//   node examples/recipes/function-calling/functionCalling.ts
import {
  type Agent,
  compose,
  createAgent,
  defineTool,
  type Model,
  type Tool,
  tokenBudget,
  turns,
} from 'loopchart'
import { z } from 'zod'
import { withModel } from '../withModel.ts'

const temperatures: Readonly<Record<string, number>> = { Paris: 21, Oslo: 9 }

const weather = defineTool({
  name: 'get_weather',
  description: 'Current weather of a city.',
  input: z.object({ city: z.string().min(1), unit: z.enum(['C', 'F']).default('C') }),
  maxResultCharacters: 800,
  run: ({ city, unit }) => {
    const celsius = temperatures[city]
    // The model is told the type and the message: "RangeError: …".
    if (celsius === undefined) throw new RangeError(`there is no station in ${city}, only in Paris and Oslo`)
    return { city, temperature: unit === 'C' ? celsius : celsius * 1.8 + 32, unit }
  },
})

/** @param tools What the model may call. Default: the weather of two cities. */
export function functionCalling(model: Model, tools: readonly Tool[] = [weather]): Agent {
  return createAgent({
    model,
    tools,
    instructions: 'Answer briefly. When a tool fails, read the error and correct yourself.',
    memory: compose(turns(6), tokenBudget(16_000)),
    limits: {
      steps: { abort: 8 },
      errorStreak: { abort: 3, perTool: false },
    },
  })
}

export async function main(): Promise<void> {
  await withModel(async (model) => {
    const conversation = functionCalling(model).session('demo')
    for (const question of ['What is the weather in Paris?', 'And the weather in Oslo?']) {
      const outcome = await conversation.run(question)
      console.log(outcome.status === 'done' ? outcome.output : outcome)
      console.log(`${outcome.usage.inputTokens} tokens in, ${outcome.usage.outputTokens} out`)
    }
  })
}

if (process.argv[1] === import.meta.filename) await main()
