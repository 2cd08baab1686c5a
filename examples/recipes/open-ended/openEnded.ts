// A goal, and a model that plans, acts and criticises itself until it is satisfied: without limits, and with them. The model
// follows a script, so that the numbers are the same each time.
//
//   node examples/recipes/open-ended/openEnded.ts
import { type Agent, createAgent, defineTool, type Limits, type Model } from 'loopchart'
import { type ScriptedStep, scriptedModel } from 'loopchart/testing'
import { z } from 'zod'

const draft = defineTool({
  name: 'draft',
  description: 'Drafts a slogan.',
  input: z.object({ topic: z.string() }),
  run: ({ topic }) => `Two wheels, no worries: your ${topic} is ready when you are.`,
})

const review = defineTool({
  name: 'review',
  description: 'Reviews the draft.',
  input: z.object({ criterion: z.string() }),
  run: ({ criterion }) => `The draft is short and clear. As to ${criterion}, it is good enough to use.`,
})

export function openEnded(model: Model, limits: Partial<Limits> = {}): Agent {
  return createAgent({
    model,
    tools: [draft, review],
    instructions: 'Plan, act with the tools, criticise your own result, and go on until you are satisfied.',
    limits,
  })
}

/** As in the loops that made this kind popular: nothing but the model's own contentment ends them. */
export const unlimited: Partial<Limits> = { steps: Infinity, repeats: Infinity, stagnation: Infinity }

/** Goes back and forth between its two tools, checks twelve times what it has checked before, and answers when it must. */
export function restless(): Model {
  const calls = [
    { name: 'draft', arguments: { topic: 'bicycle' } },
    { name: 'review', arguments: { criterion: 'wit' } },
  ]
  const act = (call: (typeof calls)[number]): ScriptedStep => {
    return ({ toolChoice }) => (toolChoice === 'none' ? 'Two wheels, no worries.' : { calls: [call] })
  }
  const rechecks = Array.from({ length: 12 }, () => calls.map(act)).flat()
  return scriptedModel([...rechecks, 'Two wheels, no worries.'])
}

export async function main(): Promise<void> {
  for (const limits of [unlimited, {}]) {
    let calls = 0
    const outcome = await openEnded(restless(), limits).run(
      'Write a slogan for a bicycle shop. Make sure it is good.',
      {
        onEvent: ({ type }) => type === 'model.finished' && calls++,
      },
    )
    console.log(
      limits === unlimited ? 'Without limits:' : 'With limits:',
      `${outcome.status} after ${calls} model calls`,
    )
    if (outcome.status === 'done') console.log(outcome.output, outcome.stoppedBy?.evidence ?? '')
  }
}

if (process.argv[1] === import.meta.filename) await main()
