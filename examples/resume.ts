// A run that waits for a person, kept in a journal and gone on with later. What was recorded is not done again.
//
//   node examples/resume.ts
import { createAgent, defineTool, memoryJournal, openaiChat } from 'loopchart'
import { startOfflineEndpoint } from 'loopchart/offline'
import { z } from 'zod'

const convert = defineTool({
  name: 'convert_units',
  description: 'Converts a value between units.',
  input: z.object({ value: z.number(), from: z.string(), to: z.string() }),
  needsApproval: true,
  run: ({ value }) => ({ result: value * 0.621371 }),
})

export async function main(): Promise<void> {
  const endpoint = await startOfflineEndpoint()
  const agent = createAgent({
    model: openaiChat(endpoint.model, { baseURL: endpoint.baseURL }),
    tools: [convert],
    journal: memoryJournal(),
  })

  const paused = await agent.run('How many miles are 5 km?')
  if (paused.status !== 'waiting') throw new Error(`expected the run to wait, but it is ${paused.status}`)
  for (const { name, arguments: args } of paused.approvals) console.log(`may ${name} run with ${args}?`)

  const decisions = paused.approvals.map(({ callId }) => ({ callId, approved: true }))
  const outcome = await agent.resume(paused.runId, { decisions })
  console.log(outcome.status === 'done' ? outcome.output : outcome.status)
  await endpoint.close()
}

if (process.argv[1] === import.meta.filename) await main()
