// The loop for a model without tool calling: one JSON object per reply, facts from what leaves the window, no call twice.
//
//   node examples/recipes/json-protocol/jsonProtocol.ts

import type { Agent, Model, Tool, ToolDefinition } from 'loopchart'
import { compose, createAgent, defineTool, facts, jsonProtocol, limitTexts, turns } from 'loopchart'
import { z } from 'zod'
import { withModel } from '../withModel.ts'

/** What stands in for an answer after eight steps. */
export const MORE_PLEASE = 'I could not work that out. Could you tell me more about what you need?'

/** What all tools have in common: tried again three times, whatever they throw, and not too much to read. */
export const patient: Pick<ToolDefinition, 'retryDelaysMs' | 'isTransient' | 'maxResultCharacters'> = {
  retryDelaysMs: [500, 1000, 2000],
  isTransient: () => true,
  maxResultCharacters: 2000,
}

const stock = new Map([
  ['lamp', 12],
  ['desk', 0],
])

const inStock = defineTool({
  ...patient,
  name: 'in_stock',
  description: 'How many of an article are in stock.',
  input: z.object({ article: z.string(), warehouse: z.string().default('main') }),
  run: ({ article }) => ({ article, count: stock.get(article) ?? 0 }),
})

/** @param reader Finds the facts. Default: the model itself, asked without the protocol. */
export function shopAgent(model: Model, tools: readonly Tool[] = [inStock], reader: Model = model): Agent {
  return createAgent({
    model: jsonProtocol(model),
    tools,
    instructions: 'You help in a furniture shop.',
    memory: compose(turns(5), facts({ model: reader })),
    limits: {
      steps: { abort: 8 },
      sameCalls: 2,
      malformed: Number.POSITIVE_INFINITY,
    },
    texts: { ...limitTexts.en, noAnswer: () => MORE_PLEASE },
  })
}

const script = [
  '{"thought": "I look it up.", "action": "in_stock", "action_input": {"article": "lamp"}}',
  '{"thought": "That is all.", "final_answer": "There are 12 lamps."}',
]

export async function main(): Promise<void> {
  await withModel(
    async (model) => {
      const outcome = await shopAgent(model).run('How many lamps are there?')
      console.log(outcome.status === 'done' ? outcome.output : 'partial' in outcome && outcome.partial)
    },
    { script },
  )
}

if (process.argv[1] === import.meta.filename) await main()
