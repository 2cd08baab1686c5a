import { appendFileSync } from 'node:fs'
import { z } from 'zod'
import { type Agent, createAgent, defineTool, type Journal, type Model } from '../../src/index.ts'
import { type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'

/** Where the effects of the shop's tools can be counted. */
export interface World {
  /** A file that gets one line for each entry in the ledger: the idempotency key. */
  readonly ledger: string
  /** A server that is sent each idempotency key, at `/charge` and `/book`. */
  readonly url: string
}

/** The id of each call is its place in the run. */
const script: readonly ScriptedStep[] = [
  {
    calls: [
      { id: 'tool.1.0', name: 'enter', arguments: { line: 'order' } },
      { id: 'tool.1.1', name: 'charge', arguments: { cents: 100 } },
    ],
  },
  { calls: [{ id: 'tool.2.0', name: 'book', arguments: { day: 'monday' } }] },
  { calls: [{ id: 'tool.3.0', name: 'enter', arguments: { line: 'sold' } }] },
  'Sold.',
]

/** Answers by what has been said so far, so that any process can go on with a run of it. */
const model: Model = {
  id: 'shop',
  generate(request, io) {
    const said = request.messages.filter(({ role }) => role === 'assistant').length
    return scriptedModel([script[said] ?? 'Nothing is left to do.']).generate(request, io)
  },
}

/** An agent whose tools change the world: `book` may be repeated with the same key, `enter` and `charge` may not. */
export function shop(journal: Journal, { ledger, url }: World): Agent {
  const send = async (path: string, key: string) => {
    const response = await fetch(`${url}/${path}`, { method: 'POST', headers: { 'idempotency-key': key } })
    return response.text()
  }
  const enter = defineTool({
    name: 'enter',
    description: 'Enters a line into the ledger.',
    input: z.object({ line: z.string() }),
    run({ line }, { idempotencyKey }) {
      appendFileSync(ledger, `${idempotencyKey}\n`)
      return `entered ${line}`
    },
  })
  const charge = defineTool({
    name: 'charge',
    description: 'Charges the customer.',
    input: z.object({ cents: z.number() }),
    run: (_args, { idempotencyKey }) => send('charge', idempotencyKey),
  })
  const book = defineTool({
    name: 'book',
    description: 'Books a delivery.',
    input: z.object({ day: z.string() }),
    idempotent: true,
    run: (_args, { idempotencyKey }) => send('book', idempotencyKey),
  })
  return createAgent({ model, tools: [enter, charge, book], journal })
}
