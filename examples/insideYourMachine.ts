// An agent as one state of your own machine: it drafts an answer, a person accepts it or asks for another.
//
//   node examples/insideYourMachine.ts
import { createAgent, openaiChat } from 'loopchart'
import { exampleTools, startOfflineEndpoint } from 'loopchart/offline'
import { assign, createActor, setup, waitFor } from 'xstate'

export async function main(): Promise<void> {
  const endpoint = await startOfflineEndpoint()
  const agent = createAgent({
    model: openaiChat(endpoint.model, { baseURL: endpoint.baseURL }),
    tools: exampleTools,
  })

  const support = setup({
    types: {
      context: {} as { question: string; draft: string },
      events: {} as { type: 'ACCEPT' } | { type: 'ASK_AGAIN'; question: string },
      input: {} as { question: string },
    },
    actors: { agent: agent.machine },
  }).createMachine({
    context: ({ input }) => ({ question: input.question, draft: '' }),
    initial: 'drafting',
    states: {
      drafting: {
        invoke: {
          src: 'agent',
          input: ({ context }) => context.question,
          onDone: {
            target: 'reviewing',
            actions: assign({
              draft: ({ event }) => (event.output.status === 'done' ? event.output.output : 'No answer.'),
            }),
          },
        },
      },
      reviewing: {
        on: {
          ACCEPT: 'sent',
          ASK_AGAIN: { target: 'drafting', actions: assign({ question: ({ event }) => event.question }) },
        },
      },
      sent: { type: 'final' },
    },
  })

  const actor = createActor(support, { input: { question: 'How many miles are 5 km?' } })
  actor.start()
  const first = await waitFor(actor, (snapshot) => snapshot.matches('reviewing'))
  console.log(`draft: ${first.context.draft}`)
  actor.send({ type: 'ASK_AGAIN', question: 'How many feet are 5 km?' })
  const second = await waitFor(actor, (snapshot) => snapshot.matches('reviewing'))
  console.log(`draft: ${second.context.draft}`)
  actor.send({ type: 'ACCEPT' })
  console.log(actor.getSnapshot().value)
  await endpoint.close()
}

if (process.argv[1] === import.meta.filename) await main()
