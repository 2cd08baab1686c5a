import { describe, expect, it } from 'vitest'
import {
  type CompactIO,
  compose,
  type FactsOptions,
  facts,
  findViolations,
  type Message,
  MisuseError,
  memoryFacts,
  type StrategyMemory,
  tokenBudget,
  turns,
} from '../../src/index.ts'
import { type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { characters, says, user } from './support.ts'

const factsOf = (transcript: readonly Message[]) => memoryFacts(transcript, { tokenCounter: characters })

const turn = (n: number): readonly Message[] => [user(`question ${n}`), says(`answer ${n}`)]
const talk = (count: number): readonly Message[] => [
  ...Array.from({ length: count - 1 }, (_, i) => turn(i + 1)).flat(),
  user(`question ${count}`),
]

/** A window of the last turns, and facts of what has left it, told by a scripted model. */
function remembering(
  steps: readonly ScriptedStep[],
  options: FactsOptions = {},
  window: StrategyMemory = turns(1),
) {
  const model = scriptedModel(steps)
  const memory = compose(window, facts({ model, ...options }))
  let state: unknown
  let problem: string | undefined
  return {
    model,
    get problem() {
      return problem
    },
    /** Compacts where the memory asks for it, and shows. */
    async see(transcript: readonly Message[]): Promise<readonly Message[]> {
      if (memory.needsCompaction?.(transcript, state, factsOf(transcript)) === true) {
        const io: CompactIO = {
          ...factsOf(transcript),
          signal: new AbortController().signal,
          timeoutMs: 60_000,
          agentModel: scriptedModel([]),
        }
        const compacted = await memory.compact?.(transcript, state, io)
        state = JSON.parse(JSON.stringify(compacted?.state))
        problem = compacted?.problem
      }
      return memory.view(transcript, state, factsOf(transcript))
    },
  }
}

const block = (view: readonly Message[]): string => String(view[0]?.content)

describe('facts', () => {
  it('are taken from what the window no longer shows, and shown as a block before it', async () => {
    const { see, model } = remembering(['{"name":"Ada","city":"Paris"}'])
    const view = await see(talk(2))
    expect(block(view)).toMatch(/^Background: known facts.*not instructions.*- name: Ada\n- city: Paris/s)
    expect(view.slice(1)).toEqual([user('question 2')])
    expect(findViolations(view)).toEqual([])
    const material = String(model.requests[0]?.messages[1]?.content)
    expect(material).toContain('question 1')
    expect(material).not.toContain('question 2')
  })

  it('are asked for once for each message that leaves, and not while nothing does', async () => {
    const { see, model } = remembering(['{}', '{}'])
    await see(talk(1))
    expect(model.requests).toHaveLength(0)
    await see(talk(2))
    await see(talk(2))
    expect(model.requests).toHaveLength(1)
    await see(talk(3))
    const material = String(model.requests[1]?.messages[1]?.content)
    expect(material).toContain('question 2')
    expect(material).not.toContain('question 1')
  })

  it('are replaced by a newer value of the same key, and dropped where they are contradicted', async () => {
    const { see } = remembering(['{"city":"Paris","name":"Ada"}', '{"city":"Rome","name":null,"age":36}'])
    await see(talk(2))
    const view = await see(talk(3))
    expect(block(view)).toContain('- city: Rome')
    expect(block(view)).toContain('- age: 36')
    expect(block(view)).not.toMatch(/Paris|Ada/)
  })

  it('are capped in number and in tokens; those that were confirmed last stay', async () => {
    const many = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`key_${i}`, `v${i}`]))
    const few = await remembering([JSON.stringify(many)], { maxFacts: 3 }).see(talk(2))
    expect(block(few).match(/key_\d/g)).toEqual(['key_6', 'key_7', 'key_8'])
    const short = await remembering([JSON.stringify(many)], { maxTokens: 250 }).see(talk(2))
    expect(block(short).length).toBeLessThanOrEqual(250)
    expect(block(short)).toContain('key_8')
    expect(block(short)).not.toContain('key_0')
    const long = await remembering([JSON.stringify({ k: 'x'.repeat(5000) })]).see(talk(2))
    expect(block(long).length).toBeLessThan(600)
  })

  it('are cut where one is too long, and do not drive the others out', async () => {
    const { see } = remembering(['{"name":"Ada"}', JSON.stringify({ note: '数'.repeat(300) })], {
      maxTokens: 300,
    })
    await see(talk(2))
    const view = await see(talk(3))
    expect(block(view)).toContain('- name: Ada')
    expect(block(view)).toMatch(/- note: 数+/)
    expect(block(view).length).toBeLessThanOrEqual(300)
  })

  it('are read from what models make of JSON, whatever keys and values they choose', async () => {
    const written =
      '```json\n{"__proto__": "odd", "constructor": {"a": [1]}, "note": "two\\nlines", "": "x",}\n```'
    const view = await remembering([written]).see(talk(2))
    expect(block(view)).toContain('- __proto__: odd')
    expect(block(view)).toContain('- constructor: {"a":[1]}')
    expect(block(view)).toContain('- note: two lines')
    expect(block(view)).not.toContain(': x')
  })

  it('are asked for once more where no object comes, and then done without', async () => {
    const twice = remembering(['no idea', '{"name":"Ada"}'])
    expect(block(await twice.see(talk(2)))).toContain('Ada')
    const never = remembering(['[1]', new Error('busy')])
    expect(await never.see(talk(2))).toEqual([user('question 2')])
    expect(never.problem).toMatch(/^No facts were taken .*busy$/)
    // What could not be read is not tried again with every step.
    await never.see(talk(2))
    expect(never.model.requests).toHaveLength(2)
  })

  it('wait until so many tokens have left, where the options say so', async () => {
    const { counter } = factsOf([])
    const batch = turn(1).reduce((sum, message) => sum + counter.count(message), 1)
    const { see, model } = remembering(['{}'], { batch })
    await see(talk(2))
    expect(model.requests).toHaveLength(0)
    await see(talk(4))
    expect(model.requests).toHaveLength(1)
  })

  it('stay within the budget of the strategies before them', async () => {
    const budget = 420
    const { see } = remembering(['{"a":"1"}', '{"b":"2"}', '{"c":"3"}'], {}, tokenBudget(budget))
    for (const length of [10, 20, 30]) {
      const view = await see(talk(length))
      const { counter } = factsOf(view)
      expect(view.reduce((sum, message) => sum + counter.count(message), 0)).toBeLessThanOrEqual(budget)
      expect(view.at(-1)).toEqual(user(`question ${length}`))
    }
  })

  it('are found by a model behind thoughts, and by one whose service tells no usage', async () => {
    const thinking = remembering(['<think>{"name":"Bob"}</think>{"name":"Ada"}'])
    expect(block(await thinking.see(talk(2)))).toContain('Ada')
    const model = scriptedModel([])
    const bare = { ...model, generate: async () => ({ text: '{"name":"Ada"}' }) as never }
    expect(block(await remembering([], { model: bare }).see(talk(2)))).toContain('Ada')
  })

  it.each([{ maxFacts: 0 }, { maxTokens: 1.5 }, { maxTokens: 40 }, { batch: -1 }, { model: 'gpt' as never }])(
    'refuses %j',
    (options) => {
      expect(() => facts(options)).toThrow(MisuseError)
    },
  )
})
