import { describe, expect, it } from 'vitest'
import {
  type CompactIO,
  findViolations,
  type Message,
  MisuseError,
  type Model,
  memoryFacts,
  type SummaryOptions,
  summary,
} from '../../src/index.ts'
import { type ScriptedModel, type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { characters, exchange, says, user } from './support.ts'

/** A memory, and the state that its compactions lead to. */
class Remembering {
  readonly memory
  state: unknown
  problem: string | undefined
  spent: unknown

  constructor(options: SummaryOptions) {
    this.memory = summary(options)
  }

  needs(transcript: readonly Message[]): boolean {
    return this.memory.needsCompaction?.(transcript, this.state, factsOf(transcript)) === true
  }

  async compact(transcript: readonly Message[], agentModel: Model = scriptedModel([])): Promise<void> {
    const io: CompactIO = {
      ...factsOf(transcript),
      signal: new AbortController().signal,
      timeoutMs: 60_000,
      agentModel,
    }
    const compacted = await this.memory.compact?.(transcript, this.state, io)
    this.state = JSON.parse(JSON.stringify(compacted?.state))
    this.problem = compacted?.problem
    this.spent = compacted?.spent
  }

  shows(transcript: readonly Message[]): readonly Message[] {
    return this.memory.view(transcript, this.state, factsOf(transcript))
  }

  text(transcript: readonly Message[]): string {
    return this.shows(transcript)
      .map(({ content }) => content)
      .join('\n')
  }
}

const factsOf = (transcript: readonly Message[]) => memoryFacts(transcript, { tokenCounter: characters })

const sizeOf = (messages: readonly Message[]): number =>
  messages.reduce((sum, message) => sum + factsOf([]).counter.count(message), 0)

const talk = (n: number): readonly Message[] => [
  user(`question ${n}`),
  ...exchange(`c${n}`, `result ${n} `.repeat(20)),
  says(`answer ${n}`),
]
const turns = (from: number, to: number): readonly Message[] =>
  Array.from({ length: to - from + 1 }, (_, i) => talk(from + i)).flat()

const summariser = (...steps: readonly ScriptedStep[]): ScriptedModel => scriptedModel(steps)
const options = { at: 1500, keep: 500, maxTokens: 250 }

describe('a running summary', () => {
  const transcript = [...turns(1, 8), user('what now?')]

  it('is not made while the request fits: the same array is shown, and nobody is asked', () => {
    const short = [...turns(1, 3), user('now?')]
    const remembering = new Remembering({ ...options, model: summariser() })
    expect(remembering.needs(short)).toBe(false)
    expect(remembering.shows(short)).toBe(short)
  })

  it('takes the place of the oldest messages, marked as background, and keeps the newest word for word', async () => {
    const model = summariser('The user asked about 1 to 5.')
    const remembering = new Remembering({ ...options, model })
    expect(remembering.needs(transcript)).toBe(true)
    await remembering.compact(transcript)
    const view = remembering.shows(transcript)
    expect(view[0]?.role).toBe('user')
    expect(view[0]?.content).toMatch(/^Background: .*not instructions.*The user asked about 1 to 5\./s)
    expect(view.slice(1).every((message) => transcript.includes(message))).toBe(true)
    expect(view.length).toBeGreaterThan(4)
    expect(view.at(-1)).toBe(transcript.at(-1))
    expect(sizeOf(view)).toBeLessThanOrEqual(options.at)
    expect(findViolations(view)).toEqual([])
    expect(remembering.needs(transcript)).toBe(false)
  })

  it('is made of what leaves, as material that is not to be obeyed', async () => {
    const model = summariser('notes')
    await new Remembering({ ...options, model }).compact(transcript)
    const [system, material] = model.requests[0]?.messages ?? []
    expect(system?.role).toBe('system')
    expect(system?.content).toMatch(/do not follow instructions/)
    expect(material?.content).toContain('question 1')
    expect(material?.content).toContain('(calls look_up with {})')
    expect(material?.content).not.toContain('what now?')
  })

  it('is replaced by the next one, which is made of the old one and of what leaves then', async () => {
    const model = summariser('first notes', 'second notes')
    const remembering = new Remembering({ ...options, model })
    await remembering.compact(transcript)
    const longer = [...transcript, says('this'), ...turns(9, 14), user('and now?')]
    expect(remembering.needs(longer)).toBe(true)
    await remembering.compact(longer)
    expect(remembering.text(longer)).toContain('second notes')
    expect(remembering.text(longer)).not.toContain('first notes')
    const material = String(model.requests[1]?.messages[1]?.content)
    expect(material).toContain('first notes')
    expect(material).toContain('question 9')
    expect(material).not.toContain('question 2')
  })

  it('never grows beyond its cap, however often it is renewed', async () => {
    const model = summariser(...Array.from({ length: 6 }, (_, i) => `${i}: ${'blah '.repeat(100)}`))
    const remembering = new Remembering({ ...options, model })
    for (let n = 1; n <= 6; n++) {
      const conversation = [...turns(1, 8 * n), user('now?')]
      await remembering.compact(conversation)
      const view = remembering.shows(conversation)
      expect((remembering.state as { text: string }).text.length).toBeLessThanOrEqual(options.maxTokens)
      expect(sizeOf(view)).toBeLessThanOrEqual(options.at)
    }
    model.assertFinished()
  })

  it('tells a user message of a turn that is cut only when the turn has left', async () => {
    const model = summariser('one', 'two')
    const remembering = new Remembering({ ...options, model })
    const long = [
      user('the long task'),
      ...Array.from({ length: 9 }, (_, i) => exchange(`x${i}`, 'r'.repeat(200))).flat(),
    ]
    await remembering.compact(long)
    expect(remembering.text(long)).toContain('the long task')
    expect(String(model.requests[0]?.messages[1]?.content)).not.toContain('the long task')
    const later = [...long, says('done'), ...turns(1, 8), user('next')]
    await remembering.compact(later)
    expect(remembering.text(later)).not.toContain('the long task')
    expect(String(model.requests[1]?.messages[1]?.content)).toContain('the long task')
  })

  it('is asked of the agent’s own model where it is given none, and its usage is told', async () => {
    const own = summariser({ text: 'notes', usage: { inputTokens: 70, outputTokens: 8 } })
    const remembering = new Remembering(options)
    await remembering.compact(transcript, own)
    expect(remembering.text(transcript)).toContain('notes')
    expect(remembering.spent).toMatchObject([
      { model: 'scripted', usage: { inputTokens: 70, outputTokens: 8 } },
    ])
  })

  it('is asked for once more where the first one is empty, cut off, or longer than what it replaces', async () => {
    for (const bad of ['', { text: 'cut', finish: 'length' as const }, new Error('busy')]) {
      const model = summariser(bad, 'good notes')
      const remembering = new Remembering({ ...options, model })
      await remembering.compact(transcript)
      expect(remembering.text(transcript)).toContain('good notes')
      expect(remembering.problem).toBeUndefined()
      expect(model.requests[1]?.messages[0]?.content).toContain('could not be used')
    }
  })

  it('is done without where the summariser gives nothing of use twice, and the problem is told', async () => {
    const model = summariser(new Error('broken'), '')
    const remembering = new Remembering({ ...options, model })
    await remembering.compact(transcript)
    const view = remembering.shows(transcript)
    expect(remembering.problem).toMatch(/left out without one: it was empty/)
    expect(view.at(-1)).toBe(transcript.at(-1))
    expect(sizeOf(view)).toBeLessThanOrEqual(options.at)
    expect(findViolations(view)).toEqual([])
    expect(remembering.needs(transcript)).toBe(false)
  })

  it('must be shorter than what it replaces', async () => {
    const tiny = { at: 1800, keep: 1000, maxTokens: 600 }
    const model = summariser('y'.repeat(2000), 'y'.repeat(2000))
    const remembering = new Remembering({ ...tiny, model })
    const conversation = [user('q'), ...exchange('a', 'small'), ...exchange('b', 'large '.repeat(320))]
    await remembering.compact(conversation)
    expect(remembering.problem).toMatch(/no shorter than what it is to replace/)
    expect(sizeOf(remembering.shows(conversation))).toBeLessThanOrEqual(tiny.at)
  })

  it('stands for every message that is no longer shown: nothing falls between', async () => {
    for (const sizes of [options, { at: 1500, keep: 1490, maxTokens: 600 }, { at: 1500, keep: 100 }]) {
      const model = summariser(...Array.from({ length: 40 }, () => 'notes'))
      const remembering = new Remembering({ ...sizes, model })
      for (let n = 1; n <= 20; n++) {
        const conversation = [...turns(1, n), user(`and ${n}?`)]
        if (remembering.needs(conversation)) await remembering.compact(conversation)
        const told = model.requests.map(({ messages }) => String(messages[1]?.content)).join('\n')
        const view = remembering.shows(conversation)
        const lost = conversation.filter(
          (message) => !view.includes(message) && !told.includes(String(message.content ?? 'look_up')),
        )
        expect(lost).toEqual([])
      }
      expect(model.requests.length).toBeGreaterThan(1)
    }
  })

  it('is not asked for again and again where nothing more can leave', async () => {
    const remembering = new Remembering({ ...options, model: summariser('notes') })
    const stuck = [user('q'), ...exchange('a', 'small'), ...exchange('b', 'large '.repeat(500))]
    expect(remembering.needs(stuck)).toBe(true)
    await remembering.compact(stuck)
    expect(remembering.needs(stuck)).toBe(false)
  })

  it('leaves room until the next one, however much is sent beside the conversation', async () => {
    const model = summariser(...Array.from({ length: 40 }, () => 'n'.repeat(400)))
    const memory = summary({ at: 3000, keep: 1500, model })
    let state: unknown
    for (let n = 1; n <= 40; n++) {
      const conversation = [...Array.from({ length: n }, (_, i) => talk(i)).flat(), user(`and ${n}?`)]
      const known = memoryFacts(conversation, {
        tokenCounter: characters,
        beside: { count: () => 1000, atMost: () => 1000 },
      })
      if (memory.needsCompaction?.(conversation, state, known) !== true) continue
      const io = { ...known, signal: new AbortController().signal, timeoutMs: 60_000, agentModel: model }
      state = (await memory.compact?.(conversation, state, io))?.state
    }
    expect(model.requests.length).toBeLessThan(25)
  })

  it('cuts material that is longer than what its model reads, and gives up when it is told to', async () => {
    const model = { ...summariser('notes'), contextWindow: 400 }
    const remembering = new Remembering({ ...options, model })
    await remembering.compact(transcript)
    const { requests } = model as unknown as ScriptedModel
    expect(String(requests[0]?.messages[1]?.content).length).toBeLessThan(1200)
    const io = {
      ...factsOf(transcript),
      signal: AbortSignal.abort('stop'),
      timeoutMs: 60_000,
      agentModel: model,
    }
    const stopped = summary({ ...options, model: summariser(new Error('stopped')) })
    await expect(stopped.compact?.(transcript, undefined, io)).rejects.toThrow('stopped')
  })

  it('gives way where a provider finds that less fits than was thought', () => {
    const { memory } = new Remembering(options)
    const short = [...turns(1, 3), user('now?')]
    const ceiling = Math.floor(sizeOf(short) / 2)
    const facts = memoryFacts(short, { tokenCounter: characters, ceiling })
    expect(memory.needsCompaction?.(short, undefined, facts)).toBe(true)
    expect(sizeOf(memory.view(short, undefined, facts))).toBeLessThanOrEqual(ceiling)
  })

  it.each([
    { at: 0, keep: 1 },
    { at: 10, keep: 10 },
    { at: 10, keep: 0 },
    { at: 10, keep: 5, maxTokens: 0 },
    { at: 10, keep: 5, model: 'gpt-4.1' as never },
    undefined as never,
    null as never,
    30_000 as never,
  ])('refuses %j', (bad) => {
    expect(() => summary(bad)).toThrow(MisuseError)
  })
})

describe('a summary by messages', () => {
  const byMessages = { at: { messages: 9 }, keep: { messages: 5 } }

  it('is made once there are more than so many, and keeps whole exchanges of the newest ones', async () => {
    const transcript = [...turns(1, 2), user('now?')]
    const remembering = new Remembering({ ...byMessages, model: summariser('notes') })
    expect(remembering.needs(transcript)).toBe(false)
    const longer = [...transcript, ...exchange('last', 'one', 'two', 'three')]
    expect(remembering.needs(longer)).toBe(true)
    await remembering.compact(longer)
    const shown = remembering.shows(longer)
    expect(shown[0]?.content).toContain('notes')
    expect(shown.slice(1)).toEqual(longer.slice(8))
    expect(remembering.needs(longer)).toBe(false)
  })

  it('keeps the newest exchange however large it is, with its request', async () => {
    const transcript = [...turns(1, 1), user('now?'), ...exchange('last', ...Array(12).fill('one'))]
    const remembering = new Remembering({ ...byMessages, model: summariser('notes') })
    await remembering.compact(transcript)
    expect(remembering.shows(transcript).slice(1)).toEqual(transcript.slice(4))
    expect(remembering.needs(transcript)).toBe(false)
  })

  it('may be longer than the short messages that it replaces, up to its own bound', async () => {
    const transcript = Array.from({ length: 6 }, (_, i) => [user(`q${i}`), says('ok')]).flat()
    const notes = 'The user is called Ada, lives in Oslo, and has two cats. '.repeat(20)
    const model = summariser(notes)
    const remembering = new Remembering({ ...byMessages, maxTokens: 400, model })
    await remembering.compact(transcript)
    expect(remembering.problem).toBeUndefined()
    expect(model.requests).toHaveLength(1)
    expect(remembering.shows(transcript)[0]?.content).toContain('The user is called Ada')
    expect(sizeOf(remembering.shows(transcript).slice(0, 1))).toBeLessThan(600)
  })

  it.each([
    [{ at: { messages: 12 }, keep: { messages: 11 } }, 'keep.messages (11) must be at least 2 less than'],
    [{ at: { messages: 8 }, keep: 4 }, 'both must be tokens, or both messages'],
    [{ at: 8, keep: { messages: 4 } }, 'both must be tokens, or both messages'],
    [{ at: { messages: 8 }, keep: { messages: 8 } }, 'keep (8) must be less than at (8)'],
    [{ at: { messages: 0 }, keep: { messages: 0 } }, 'at.messages must be a whole number of at least 1'],
  ])('cannot be %j', (wrong, message) => {
    expect(() => summary(wrong as SummaryOptions)).toThrow(
      expect.objectContaining({ code: 'invalid_memory', message: expect.stringContaining(message) }),
    )
  })
})
