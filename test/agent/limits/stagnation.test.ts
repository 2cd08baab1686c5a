import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type AgentEvent, createAgent, defineTool, type Tool } from '../../../src/index.ts'
import { type ScriptedReply, type ScriptedStep, scriptedModel } from '../../../src/testing/index.ts'
import { expectDone } from '../../support/outcome.ts'

/** A tool that answers from its arguments. */
const tool = (name: string, answer: (n: number) => unknown, repeatable = false): Tool =>
  defineTool({
    name,
    description: 'Answers.',
    input: z.object({ n: z.number() }),
    repeatable,
    run: ({ n }) => answer(n),
  })

const call = (name: string, n: number): ScriptedReply => ({ calls: [{ name, arguments: { n } }] })
const calls = (name: string, count: number): ScriptedReply[] =>
  Array.from({ length: count }, (_, n) => call(name, n))

async function run(steps: readonly ScriptedStep[], tools: readonly Tool[], limits: object = {}) {
  const events: AgentEvent[] = []
  const model = scriptedModel(steps)
  const agent = createAgent({ model, tools, limits: { steps: 60, ...limits } })
  const outcome = expectDone(await agent.run('go', { onEvent: (event) => events.push(event) }))
  return { outcome, model, warned: events.filter(({ type }) => type === 'limit.warned').length }
}

const words = (from: number, count: number): string =>
  Array.from({ length: count }, (_, i) => `word${from + i}`).join(' ')
const matches = Array.from(
  { length: 60 },
  (_, i) => `src/file${i}.ts:${i * 7}: const limit${i} = readLimit(${i})`,
).join('\n')

describe('steps that bring nothing new', () => {
  it('are warned of after two, and concluded after three, however the search is worded', async () => {
    const { outcome, model } = await run([...calls('grep', 4), 'closing'], [tool('grep', () => matches)])
    expect(outcome.stoppedBy).toMatchObject({
      limit: 'stagnation',
      max: 3,
      reaction: 'conclude',
      evidence: '3 steps in a row brought nothing that had not been seen before',
    })
    // The first one brought something.
    expect(outcome.steps).toBe(4)
    const notes = model.requests.map(({ messages }) => messages.at(-1)?.content)
    expect(notes[3]).toContain('Your last 2 steps brought nothing that you had not seen before')
    expect(notes[2]).not.toContain('nothing that you had not seen')
    expect(outcome.transcript.some(({ content }) => String(content).includes('Your last 2 steps'))).toBe(
      false,
    )
  })

  it('are found where results are the same but for a little', async () => {
    const search = tool('search', (n) => `${words(0, 100)} query${n}`)
    expect((await run([...calls('search', 4), 'closing'], [search])).outcome.stoppedBy?.limit).toBe(
      'stagnation',
    )
  })

  it('are found where a result is put together from several that were seen', async () => {
    const pages = [words(0, 60), words(1000, 60), words(2000, 60)]
    const read = tool('read', (n) => pages[n] ?? `${words(0, 40)} ${words(1000, 40)}`)
    const { outcome } = await run([...calls('read', 6), 'closing'], [read])
    expect(outcome).toMatchObject({ steps: 6, stoppedBy: { limit: 'stagnation' } })
  })

  it('are found in Chinese', async () => {
    const text =
      '北京市今天白天晴转多云，最高气温二十六度，偏南风二到三级，夜间多云，最低气温十五度，空气质量良好，适合户外活动。'
    const search = tool('search', (n) => `${text}（第${n + 100}次查询）`)
    expect((await run([...calls('search', 4), 'closing'], [search])).outcome.stoppedBy?.limit).toBe(
      'stagnation',
    )
  })

  it('are found where exactly four fifths of a result were seen, and not where it was less', async () => {
    // 26 words are 24 runs of three; six more words make it 30, and seven more 31.
    const search = (more: number): Tool =>
      tool('search', (n) => (n === 0 ? words(0, 26) : `${words(0, 26)} ${words(1000 * n, more)}`))
    const outcomeOf = async (more: number) =>
      (await run([...calls('search', 4), 'closing'], [search(more)])).outcome
    expect((await outcomeOf(6)).stoppedBy?.limit).toBe('stagnation')
    expect((await outcomeOf(7)).stoppedBy).toBeUndefined()
  })

  it('are found in results of 24 words, and not in shorter ones', async () => {
    const text = '今天白天晴转多云最高气温二十六度夜间多云最低十五度'.slice(0, 24)
    const answering = (content: string): Tool => tool('search', () => content)
    const outcomeOf = async (content: string) =>
      (await run([...calls('search', 4), 'closing'], [answering(content)])).outcome
    expect((await outcomeOf(text)).stoppedBy?.limit).toBe('stagnation')
    expect((await outcomeOf(text.slice(1))).stoppedBy).toBeUndefined()
    expect((await outcomeOf(words(0, 24))).stoppedBy?.limit).toBe('stagnation')
    expect((await outcomeOf(words(0, 23))).stoppedBy).toBeUndefined()
  })

  it('are found where different calls fail with the same error', async () => {
    const failing = tool('fail', () => {
      throw new Error('no')
    })
    const limits = { errorStreak: Number.POSITIVE_INFINITY }
    const { outcome } = await run([...calls('fail', 4), 'closing'], [failing], limits)
    expect(outcome.stoppedBy?.limit).toBe('stagnation')
  })

  it('are found over all tools', async () => {
    const steps = [call('grep', 1), call('search', 2), call('grep', 3), call('search', 4)]
    const { outcome } = await run(
      [...steps, 'closing'],
      [tool('grep', () => matches), tool('search', () => matches)],
    )
    expect(outcome.stoppedBy?.limit).toBe('stagnation')
  })
})

describe('results that share most of their words', () => {
  /** A tool that answers about a thing, and questions about several. */
  const about = (answer: (topic: string) => unknown): Tool =>
    defineTool({
      name: 'look',
      description: 'Answers about something.',
      input: z.object({ topic: z.string() }),
      run: ({ topic }) => answer(topic),
    })
  const questions = (...topics: string[]): ScriptedReply[] =>
    topics.map((topic) => ({ calls: [{ name: 'look', arguments: { topic } }] }))
  const cities = ['Paris', 'Rome', 'Oslo', 'Bern', 'Wien', 'Bonn']
  const endingAfter = async (topics: readonly string[], answer: (topic: string) => unknown) =>
    (await run([...questions(...topics), 'answer'], [about(answer)])).outcome.stoppedBy?.limit

  it('are news where each is about what its own call asked for: reports of one form', async () => {
    const report = (city: string): string =>
      `Current weather report for ${city}. Temperature: ${city.charCodeAt(0)} degrees Celsius. Source: national weather ` +
      'service. Data is provided as is and without warranty of any kind; for aviation or marine use consult the official ' +
      'bulletins. Next update in one hour.'
    expect(await endingAfter(cities, report)).toBeUndefined()
  })

  it('are news where each is about what its own call asked for: in Chinese', async () => {
    const text =
      '今天天气晴朗，气温二十五度，空气质量良好，适合户外活动，请注意防晒并及时补充水分，晚间可能有阵雨，出门请带伞。'
    const places = ['北京', '上海', '广州', '深圳', '成都', '杭州']
    expect(await endingAfter(places, (city) => `${city}${text}`)).toBeUndefined()
  })

  it('are news where each is about what its own call asked for: records', async () => {
    const order = (id: string) => ({
      id,
      ...Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`key${i}`, `v${i}`])),
    })
    expect(await endingAfter(['101', '102', '103', '104', '105', '106'], order)).toBeUndefined()
  })

  it('are no news where only the time differs', async () => {
    let now = 1000
    const search = (): string => `took ${now++} ms: ${words(0, 60)}`
    expect(await endingAfter(['limits', 'limit', 'a limit', 'all limits'], search)).toBe('stagnation')
  })

  it('are no news where what the call asked for was there before', async () => {
    let now = 1000
    const search = (): string => `${words(0, 60)}, at ${now++}`
    expect(await endingAfter(['word1', 'word2', 'word3', 'word4'], search)).toBe('stagnation')
  })

  it('are no news where they are long and only repeat the question', async () => {
    const outcomeOf = (count: number) =>
      endingAfter(['one', 'two', 'three', 'four'], (query) => `${words(0, count - 2)} for ${query}`)
    expect(await outcomeOf(200)).toBeUndefined()
    expect(await outcomeOf(201)).toBe('stagnation')
  })

  it('are no news where they are errors', async () => {
    const failing = (topic: string): never => {
      throw new Error(`${topic}: ${words(0, 60)}`)
    }
    const limits = { errorStreak: Number.POSITIVE_INFINITY }
    const { outcome } = await run([...questions('a', 'b', 'c', 'd'), 'closing'], [about(failing)], limits)
    expect(outcome.stoppedBy?.limit).toBe('stagnation')
  })

  it('are no news where nothing but the names of arguments is new', async () => {
    let now = 1000
    const search = (): string => `${words(0, 60)} topic ${now++}`
    expect(await endingAfter(['w', 'x', 'y', 'z'], search)).toBe('stagnation')
  })
})

describe('steps that do bring something', () => {
  it('are those in which any result is new: the count begins anew', async () => {
    const read = tool('read', (n) => words(n * 100, 60))
    const grep = tool('grep', () => matches)
    const steps = [...calls('grep', 3), call('read', 1), call('grep', 10), call('grep', 11), call('read', 2)]
    const { outcome, warned } = await run([...steps, 'found it'], [grep, read])
    expect(outcome.stoppedBy).toBeUndefined()
    expect(warned).toBe(2)
  })

  it('are those in which one of several results is new', async () => {
    const both = (n: number): ScriptedReply => ({
      calls: [
        { name: 'grep', arguments: { n } },
        { name: 'read', arguments: { n } },
      ],
    })
    const tools = [tool('grep', () => matches), tool('read', (n) => words(n * 100, 60))]
    const { outcome } = await run([both(1), both(2), both(3), both(4), both(5), 'found it'], tools)
    expect(outcome.stoppedBy).toBeUndefined()
  })

  it('are those that change something and answer briefly', async () => {
    const { outcome, warned } = await run([...calls('write', 5), 'written'], [tool('write', () => 'ok')])
    expect(outcome.stoppedBy).toBeUndefined()
    expect(warned).toBe(0)
  })

  it('are those whose results are of one form and differ in what they say', async () => {
    const weather = tool('weather', (n) => ({
      city: `City ${n}`,
      temperature_c: 10 + n,
      condition: n % 2 === 0 ? 'sunny' : 'rain',
      humidity_percent: 40 + n,
      wind_kmh: n * 3,
      forecast: Array.from({ length: 5 }, (_, day) => ({ day, low: n + day, high: n + day + 8 })),
    }))
    expect((await run([...calls('weather', 8), 'compared'], [weather])).outcome.stoppedBy).toBeUndefined()
  })

  it('are those of tools that may be repeated', async () => {
    const { outcome } = await run([...calls('wait', 8), 'ready'], [tool('wait', () => matches, true)])
    expect(outcome.stoppedBy).toBeUndefined()
  })

  it('are all, where the limit is off', async () => {
    const limits = { stagnation: Number.POSITIVE_INFINITY }
    const { outcome } = await run([...calls('grep', 38), 'enough'], [tool('grep', () => matches)], limits)
    expect(outcome.stoppedBy).toBeUndefined()
  })
})
