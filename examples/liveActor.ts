// The agent's machine is an ordinary XState machine: run it live and watch its states.
//
//   node examples/liveActor.ts
import { createAgent, openaiChat } from 'loopchart'
import { exampleTools, startOfflineEndpoint } from 'loopchart/offline'
import { createActor, toPromise } from 'xstate'

export async function main(): Promise<void> {
  const endpoint = await startOfflineEndpoint()
  const agent = createAgent({
    model: openaiChat(endpoint.model, { baseURL: endpoint.baseURL }),
    tools: exampleTools,
  })

  const actor = createActor(agent.machine, { input: 'What is 15*8+32?' })
  actor.subscribe(({ value }) => console.log(JSON.stringify(value)))
  actor.start()

  const ending = await toPromise(actor)
  console.log(ending.status === 'done' ? ending.output : ending.status)
  await endpoint.close()
}

if (process.argv[1] === import.meta.filename) await main()
