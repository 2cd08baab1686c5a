// The loop for long conversations: the oldest exchanges become a running summary, and everything that repeats is answered.
//
//   node examples/recipes/summarising/summarising.ts

import type { Agent, Model, Tool } from 'loopchart'
import { createAgent, limitTexts, summary } from 'loopchart'
import { calculate, getWeather } from 'loopchart/offline'
import { withModel } from '../withModel.ts'

const CLOSING =
  'The steps are used up. Give your final answer now, from the results above, and name what is missing.'

interface Options {
  /** Default: the weather of a city, and a calculator. */
  readonly tools?: readonly Tool[]
  /** Writes the summary. Default: the model itself. */
  readonly summariser?: Model
}

export function summarising(
  model: Model,
  { tools = [getWeather, calculate], summariser = model }: Options = {},
): Agent {
  return createAgent({
    model,
    tools,
    instructions: 'You are a patient assistant.',
    memory: summary({ at: { messages: 12 }, keep: { messages: 6 }, model: summariser }),
    modelTimeoutMs: 20_000,
    modelRetryDelaysMs: [1000, 2000],
    limits: {
      steps: 8,
      sameCalls: { refuse: 3 },
    },
    texts: { ...limitTexts.en, closing: CLOSING },
  })
}

export async function main(): Promise<void> {
  await withModel(async (model) => {
    const conversation = summarising(model).session('demo')
    for (const city of ['Paris', 'Tokyo', 'Berlin', 'London', 'Sydney']) {
      const outcome = await conversation.run(`What is the weather in ${city}?`, {
        onEvent: ({ type }) =>
          type === 'compaction.finished' && console.log('(the summary was brought up to date)'),
      })
      console.log(outcome.status === 'done' ? outcome.output : outcome)
    }
  })
}

if (process.argv[1] === import.meta.filename) await main()
