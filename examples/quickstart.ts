// An agent with one tool of its own. Runs offline against the built-in stand-in; for a real model, leave the endpoint
// out and write openaiChat('gpt-4.1') with OPENAI_API_KEY set.
//
//   node examples/quickstart.ts
import { createAgent, defineTool, openaiChat } from 'loopchart'
import { startOfflineEndpoint } from 'loopchart/offline'
import { z } from 'zod'

const weather = defineTool({
  name: 'get_weather',
  description: 'Current weather of a city.',
  input: z.object({ city: z.string() }),
  run: async ({ city }) => ({ city, temperature_c: 21, condition: 'sunny' }),
})

export async function main(): Promise<void> {
  const endpoint = await startOfflineEndpoint()
  const agent = createAgent({
    model: openaiChat(endpoint.model, { baseURL: endpoint.baseURL }),
    tools: [weather],
    instructions: 'Answer briefly.',
    limits: { steps: 5 },
  })

  const run = agent.stream('What is the weather in Paris?')
  for await (const event of run) {
    if (event.type === 'tool.started') console.log(`calls ${event.name} ${event.arguments}`)
  }

  const outcome = await run.outcome
  switch (outcome.status) {
    case 'done':
      console.log(outcome.output)
      break
    case 'aborted':
      console.log(`${outcome.reason}: ${outcome.message}`)
      break
    case 'waiting':
      console.log(`a person has to decide on ${outcome.approvals.length} calls`)
      break
  }
  await endpoint.close()
}

if (process.argv[1] === import.meta.filename) await main()
