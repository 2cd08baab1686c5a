// The agent that the tests beside this file look at: as an application has it, with tools, an approval, a memory and
// limits of its own.
import { type Agent, createAgent, defineTool, type Model, turns } from 'loopchart'
import { z } from 'zod'

const findOrder = defineTool({
  name: 'find_order',
  description: 'Finds an order by its number.',
  input: z.object({ order: z.string().regex(/^A-\d+$/) }),
  idempotent: true,
  run: async ({ order }) => ({ order, paid: 40 }),
})

const refund = defineTool({
  name: 'refund',
  description: 'Pays money back.',
  input: z.object({ order: z.string(), amount: z.number().positive() }),
  needsApproval: ({ amount }) => amount > 100,
  run: async ({ amount }) => `refunded ${amount}`,
})

/** The application gives it `openaiChat('gpt-4.1')`; a test needs no key. */
export function refundAgent(model: Model): Agent {
  return createAgent({
    model,
    tools: [findOrder, refund],
    instructions: 'You help customers with their orders.',
    memory: turns(4),
    limits: { steps: 6 },
  })
}
