// Shows a run in Stately's inspector, a web page that is loaded from the public internet.
// (@xstate/inspect speaks XState 4 only; @statelyai/inspect is its successor.)
//
//   npm install @statelyai/inspect
//   node examples/statelyInspector.ts     then open the address that it prints
import { createWebSocketInspector } from '@statelyai/inspect'
import { createInspectorServer } from '@statelyai/inspect/server'
import { createAgent, openaiChat } from 'loopchart'
import { exampleTools, startOfflineEndpoint } from 'loopchart/offline'
import { statelyInspector } from 'loopchart/stately'

export async function main(port = 8080): Promise<void> {
  const endpoint = await startOfflineEndpoint()
  const agent = createAgent({
    model: openaiChat(endpoint.model, { baseURL: endpoint.baseURL }),
    tools: exampleTools,
  })

  const server = createInspectorServer({ port, autoOpen: false })
  const inspector = createWebSocketInspector({ url: `ws://localhost:${port}` })
  console.log(`The inspector is at http://localhost:${port}. Ctrl-C ends it.`)

  const outcome = await agent.run('What is 15*8+32?', { onEvent: statelyInspector(inspector) })
  console.log(outcome.status === 'done' ? outcome.output : outcome.status)

  await new Promise((resolve) => process.once('SIGINT', resolve))
  inspector.stop()
  server.stop()
  await endpoint.close()
}

if (process.argv[1] === import.meta.filename) await main()
