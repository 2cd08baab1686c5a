import {
  clearOldToolResults,
  compose,
  createAgent,
  defineTool,
  facts,
  type Memory,
  type ModelRequest,
  memoryFacts,
  summary,
  tokenBudget,
  turns,
  wholeTranscript,
} from 'loopchart'
import { type ScriptedModel, type ScriptedStep, scriptedModel } from 'loopchart/testing'
import { z } from 'zod'

/**
 * One conversation under each memory: a traveller's forty questions, each answered after one look-up. What is said is
 * scripted, so the same numbers come out every time. In the first question the traveller says who they are.
 */
const QUESTIONS = 40

const question = (n: number): string =>
  n === 0
    ? 'I am Ada, vegetarian, and travel with a dog. Which city shall I begin with?'
    : `And what about city number ${n}? Is it worth a day, and where shall I eat?`

const lookUp = defineTool({
  name: 'look_up',
  description: 'Looks a city up in the guide.',
  input: z.object({ city: z.number().int() }),
  run: ({ city }) =>
    `City ${city}. ${'The old town, the museum, and the market by the river are worth a visit. '.repeat(20)}`,
})

function script(): ScriptedModel {
  const steps: ScriptedStep[] = []
  for (let n = 0; n < QUESTIONS; n++) {
    steps.push({ calls: [{ name: 'look_up', arguments: { city: n } }] })
    steps.push(`City ${n} is worth a day: see the old town, then eat at the market by the river.`)
  }
  return scriptedModel(steps)
}

/** Writes notes and facts as a model might. */
function scribe(answer: string): ScriptedModel {
  return scriptedModel(Array.from({ length: 2 * QUESTIONS }, (): ScriptedStep => answer))
}

const NOTES =
  'Ada is vegetarian and travels with a dog. She asks about one city after the other; each was found worth a day, with ' +
  'the old town to see and the market by the river to eat at.'
const FACTS = '{"name":"Ada","diet":"vegetarian","travels_with":"a dog"}'

interface Contender {
  readonly name: string
  readonly memory: Memory
  readonly scribe?: ScriptedModel
}

function contenders(): readonly Contender[] {
  const forSummary = scribe(NOTES)
  const forFacts = scribe(FACTS)
  return [
    { name: '`wholeTranscript`', memory: wholeTranscript },
    { name: '`turns(6)`', memory: turns(6) },
    { name: '`tokenBudget(4000)`', memory: tokenBudget(4000) },
    { name: '`clearOldToolResults({ keep: 4 })`', memory: clearOldToolResults({ keep: 4 }) },
    {
      name: '`summary({ at: 4000, keep: 2000 })`',
      memory: summary({ at: 4000, keep: 2000, model: forSummary }),
      scribe: forSummary,
    },
    {
      name: '`compose(turns(6), facts())`',
      memory: compose(turns(6), facts({ model: forFacts })),
      scribe: forFacts,
    },
  ]
}

const { counter } = memoryFacts([])
const tokensOf = ({ messages }: ModelRequest): number =>
  sum(messages.map((message) => counter.count(message)))
const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

async function rowFor({ name, memory, scribe: asked }: Contender): Promise<string> {
  const model = script()
  const agent = createAgent({ model, memory, tools: [lookUp], instructions: 'You are a travel guide.' })
  const session = agent.session('ada')
  for (let n = 0; n < QUESTIONS; n++) await session.run(question(n))
  const sizes = model.requests.map(tokensOf)
  const last = model.requests.at(-1)
  const knowsAda = JSON.stringify(last?.messages).includes('Ada')
  const extra = asked?.requests ?? []
  const cells = [
    name,
    Math.max(...sizes),
    sum(sizes),
    extra.length === 0 ? '' : `${extra.length} (${sum(extra.map(tokensOf))})`,
    knowsAda ? 'yes' : 'no',
  ]
  return `| ${cells.join(' | ')} |`
}

/** Prints the table of docs/memory.md. */
export async function main(): Promise<void> {
  const rows = await Promise.all(contenders().map(rowFor))
  const head =
    '| memory | largest request | all requests | its own calls | knows Ada at the end |\n|--|--|--|--|--|'
  console.log([head, ...rows].join('\n'))
}

if (process.argv[1] === import.meta.filename) await main()
