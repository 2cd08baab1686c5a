import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Hono } from 'hono'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createAgent, memoryJournal } from '../../src/index.ts'
import { type InspectHandlerOptions, inspectHandler, nodeListener } from '../../src/inspect/index.ts'
import type { About, ChartDrawing, EventsPage, InspectedEvent, RunsPage } from '../../src/inspect/protocol.ts'
import { type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { journalThat } from '../support/journals.ts'
import { countingAdd } from '../support/tools.ts'
import { pageOf } from './support.ts'

const adding: ScriptedStep = { calls: [{ name: 'add', arguments: { a: 1, b: 2 }, id: 'c' }] }

const closing: (() => void)[] = []
afterEach(() => {
  vi.useRealTimers()
  for (const close of closing.splice(0)) close()
})

function inspected(options: InspectHandlerOptions) {
  const handler = inspectHandler(options)
  closing.push(handler.close)
  return handler
}

function adder(steps: readonly ScriptedStep[] = [adding, 'It is 3.'], journal = memoryJournal()) {
  return createAgent({ model: scriptedModel(steps), tools: [countingAdd()], journal, name: 'adder' })
}

describe('the inspector as a handler', () => {
  it('says what it inspects', async () => {
    const page = pageOf(inspected({ agent: adder() }))
    const { body } = await page.get<About>('api/about')
    expect(body).toMatchObject({ agent: 'adder', canAct: true, isKept: true })
    const other = pageOf(inspected({ journal: memoryJournal() }))
    expect((await other.get<About>('api/about')).body).toMatchObject({ canAct: false, isKept: true })
    const unkept = pageOf(inspected({ agent: createAgent({ model: scriptedModel([]) }), acts: false }))
    expect((await unkept.get<About>('api/about')).body).toMatchObject({ canAct: false, isKept: false })
    expect(body.instance).not.toBe((await other.get<About>('api/about')).body.instance)
  })

  it('gives the chart', async () => {
    const { body } = await pageOf(inspected({ agent: adder() })).get<ChartDrawing>('api/chart')
    expect(body.svg).toContain('<svg')
    expect(Object.keys(body.edges)).toContain('parsing|always|hasCalls|executingTools')
  })

  it('lists a run and tells its events, whether they were watched or only recorded', async () => {
    const agent = adder()
    const watching = pageOf(inspected({ agent }))
    await agent.run('1+2?', { runId: 'r' })
    const journal = agent.options.journal as NonNullable<typeof agent.options.journal>
    const reading = pageOf(inspected({ journal }))
    const row = {
      runId: 'r',
      status: 'done',
      steps: 2,
      tokens: 4,
      question: '1+2?',
      agent: 'adder',
      isLive: false,
    }
    expect(await watching.rows()).toMatchObject([row])
    expect(await reading.rows()).toMatchObject([row])
    expect(await watching.row('r')).toMatchObject(row)
    expect(await reading.row('r')).toMatchObject(row)
    const [seen, told] = [await watching.events('r'), await reading.events('r')]
    expect(seen.map(({ type }) => type)).toContain('model.delta')
    expect(told.map(({ type }) => type)).toEqual(
      seen.flatMap(({ type }) => (type === 'model.delta' ? [] : [type])),
    )
  })

  it('numbers the events, and says which entry told them', async () => {
    const agent = adder()
    await agent.run('1+2?', { runId: 'r' })
    const page = pageOf(inspected({ agent }))
    const { body } = await page.get<EventsPage>('api/runs/r/events?from=3')
    expect(body.events.map(({ index }) => index)).toEqual(body.events.map((_, i) => i + 3))
    expect(body).toMatchObject({ hasMore: false, dropped: 0, next: 3 + body.events.length })
    expect(body.events.every(({ position }) => position !== undefined)).toBe(true)
    const { body: none } = await page.get<EventsPage>(`api/runs/r/events?from=${body.next}`)
    expect(none).toMatchObject({ events: [], hasMore: false, next: body.next })
  })

  it('tells a long run page by page, without the requests that repeat it; each can be had whole', async () => {
    const words = 'many words '.repeat(100)
    const steps = Array.from(
      { length: 400 },
      (_, i): ScriptedStep => ({
        text: words,
        calls: [{ name: 'add', arguments: { a: i, b: i } }],
      }),
    )
    const off = { steps: Infinity, repeats: Infinity, stagnation: Infinity }
    const agent = createAgent({ ...adder().options, model: scriptedModel([...steps, 'Done.']), limits: off })
    const watching = inspected({ agent })
    await agent.run('go', { runId: 'r' })
    const reading = inspected({ journal: agent.options.journal as ReturnType<typeof memoryJournal> })
    for (const handler of [watching, reading]) {
      const page = pageOf(handler)
      const events: InspectedEvent[] = []
      let from = 0
      let pages = 0
      for (;;) {
        const answer = await handler.fetch(new Request(`http://app.test/api/runs/r/events?from=${from}`))
        const text = await answer.text()
        expect(text.length).toBeLessThan(1_500_000)
        const body = JSON.parse(text) as EventsPage
        events.push(...body.events)
        pages++
        from = body.next
        if (!body.hasMore) break
      }
      expect(pages).toBeGreaterThan(2)
      expect(events.map(({ index }) => index)).toEqual([...events.keys()])
      expect(events.at(-1)?.event.type).toBe('run.finished')
      const requests = events.filter(({ event }) => event.type === 'model.requested')
      expect(requests).toHaveLength(401)
      expect(requests[0]?.abridged).toBeUndefined()
      const last = requests.at(-1) as InspectedEvent
      expect(last).toMatchObject({ abridged: true, event: { request: { messages: [] } } })
      const { body: whole } = await page.get<InspectedEvent>(`api/runs/r/events/${last.index}`)
      expect(whole.abridged).toBeUndefined()
      expect(whole).toMatchObject({
        index: last.index,
        event: { type: 'model.requested', place: 'model.401.1' },
      })
      expect((whole.event as unknown as { request: { messages: unknown[] } }).request.messages).toHaveLength(
        801,
      )
    }
  }, 30_000)

  it('pages through many runs, latest first, and reads no more of them than a page needs', async () => {
    const loads: string[] = []
    const kept = memoryJournal()
    const journal = journalThat({
      ...kept,
      load: (runId) => {
        loads.push(runId)
        return kept.load(runId)
      },
    })
    for (let i = 0; i < 2000; i++) {
      await kept.append(
        `run${i}`,
        [
          { type: 'started', version: 1, at: 1000 + i, input: { messages: `question ${i}` } },
          { type: 'ended', at: 5000, status: 'aborted', reason: 'cancelled' },
        ],
        0,
      )
    }
    const page = pageOf(inspected({ journal }))
    const { body: first } = await page.get<RunsPage>('api/runs?limit=10')
    expect(first.runs.map(({ question }) => question)).toEqual(
      Array.from({ length: 10 }, (_, i) => `question ${1999 - i}`),
    )
    expect(loads).toHaveLength(10)
    const next = encodeURIComponent(first.next ?? '')
    const { body: second } = await page.get<RunsPage>(`api/runs?limit=10&before=${next}`)
    expect(second.runs[0]?.question).toBe('question 1989')
    await page.get('api/runs?limit=10')
    expect(loads).toHaveLength(20)
    const seen: string[] = []
    let before = ''
    for (;;) {
      const { body } = await page.get<RunsPage>(`api/runs?limit=200${before}`)
      seen.push(...body.runs.map(({ runId }) => runId))
      if (body.next === undefined) break
      before = `&before=${encodeURIComponent(body.next)}`
    }
    expect(new Set(seen).size).toBe(2000)
    expect(seen).toHaveLength(2000)
  })

  it('finds runs by question, id and agent, and looks further where a page has looked at enough', async () => {
    const journal = memoryJournal()
    const agent = adder(['a', 'b', 'c'], journal)
    await agent.run('Where is Paris?', { runId: 'one' })
    await agent.run('Where is Rome?', { runId: 'two' })
    const page = pageOf(inspected({ journal }))
    expect((await page.rows('?search=paris')).map(({ runId }) => runId)).toEqual(['one'])
    expect((await page.rows('?search=TWO')).map(({ runId }) => runId)).toEqual(['two'])
    expect(await page.rows('?search=adder')).toHaveLength(2)
    expect(await page.rows('?search=nothing')).toEqual([])
    for (let i = 0; i < 600; i++) {
      await journal.append(
        `x${i}`,
        [{ type: 'started', version: 1, at: Date.now() + 1000 + i, input: { messages: 'other' } }],
        0,
      )
    }
    const { body: early } = await page.get<RunsPage>('api/runs?search=paris')
    expect(early.runs).toEqual([])
    const { body: late } = await page.get<RunsPage>(
      `api/runs?search=paris&before=${encodeURIComponent(early.next ?? '')}`,
    )
    expect(late.runs.map(({ runId }) => runId)).toEqual(['one'])
  })

  it('lists by status, and runs without a journal beside those that have one', async () => {
    const journal = memoryJournal()
    const kept = adder(['a'], journal)
    const unkept = createAgent({ model: scriptedModel(['b', new Error('no')]) })
    const page = pageOf(inspected({ agents: [kept, unkept] }))
    await kept.run('kept', { runId: 'k' })
    await unkept.run('fine', { runId: 'u' })
    await unkept.run('failing', { runId: 'f' })
    expect(new Set((await page.rows()).map(({ runId }) => runId))).toEqual(new Set(['k', 'u', 'f']))
    expect(await page.rows('?status=aborted')).toMatchObject([{ runId: 'f', reason: 'model_error' }])
    expect((await page.rows('?status=done')).map(({ runId }) => runId).sort()).toEqual(['k', 'u'])
    const { body: first } = await page.get<RunsPage>('api/runs?limit=2')
    const { body: rest } = await page.get<RunsPage>(
      `api/runs?limit=2&before=${encodeURIComponent(first.next ?? '')}`,
    )
    expect([...first.runs, ...rest.runs].map(({ runId }) => runId).sort()).toEqual(['f', 'k', 'u'])
    expect(rest.next).toBeUndefined()
  })

  it('tells the rest where one run cannot be read, and what is wrong with that one', async () => {
    const journal = memoryJournal()
    const agent = adder([adding, 'It is 3.', 'hi'], journal)
    await agent.run('1+2?', { runId: 'good' })
    const odd = { type: 'settled', place: 'tool.9.0', output: { content: 'x' } } as const
    await journal.append(
      'odd',
      [
        { type: 'started', version: 1, at: 1, input: { messages: 'odd' } },
        { type: 'event', at: 2, event: odd },
      ],
      0,
    )
    await journal.append('headless', [{ type: 'ended', at: 3, status: 'done' }], 0)
    const broken = journalThat({
      ...journal,
      load: (runId) => {
        if (runId === 'good') return journal.load(runId)
        if (runId === 'odd' || runId === 'headless') return journal.load(runId)
        throw new Error('the disk is full of cats')
      },
      list: async (query) => [
        ...(await journal.list(query)),
        { runId: 'lost', status: 'done', startedAt: 0, updatedAt: 0, steps: 1, length: 3 },
      ],
    })
    const page = pageOf(inspected({ journal: broken }))
    const rows = await page.rows()
    const problems = Object.fromEntries(rows.map(({ runId, problem }) => [runId, problem]))
    expect(problems).toMatchObject({
      good: undefined,
      lost: 'The journal could not read the run "lost": the disk is full of cats',
      headless: expect.stringContaining('does not begin with "started"'),
    })
    expect(await page.row('odd')).toMatchObject({ problem: expect.stringContaining('tool.9.0') })
    expect((await page.events('odd')).map(({ type }) => type)).toContain('run.started')
    expect((await page.events('good')).at(-1)?.type).toBe('run.finished')
    expect(await page.events('lost')).toEqual([])
  })

  it('tells the rest where an entry is JSON and yet none', async () => {
    const journal = memoryJournal()
    await adder(undefined, journal).run('1+2?', { runId: 'good' })
    for (const [i, messages] of [5, [null], [{ role: 'user', content: {} }]].entries()) {
      const input = { messages } as never
      await journal.append(`odd${i}`, [{ type: 'started', version: 1, at: 1, input }], 0)
    }
    const agent = { loopchart: '0', model: 'm', tools: {}, name: {} } as never
    await journal.append(
      'named',
      [{ type: 'started', version: 1, at: 1, input: { messages: 'go' }, agent }],
      0,
    )
    const page = pageOf(inspected({ journal }))
    const { status, body } = await page.get<RunsPage>('api/runs')
    expect(status).toBe(200)
    expect(body.runs.map(({ runId }) => runId).sort()).toEqual(['good', 'named', 'odd0', 'odd1', 'odd2'])
    expect((await page.get<RunsPage>('api/runs?search=1%2B2')).body.runs.map(({ runId }) => runId)).toEqual([
      'good',
    ])
  })

  it('asks a journal again that had failed once', async () => {
    const kept = memoryJournal()
    await adder(undefined, kept).run('1+2?', { runId: 'r' })
    let fails = true
    const journal = journalThat({
      ...kept,
      load: (runId) => {
        if (fails) throw new Error('database is locked')
        return kept.load(runId)
      },
    })
    const page = pageOf(inspected({ journal }))
    expect((await page.rows())[0]?.problem).toContain('database is locked')
    expect(await page.events('r')).toEqual([])
    fails = false
    expect((await page.rows())[0]).toMatchObject({ question: '1+2?' })
    expect((await page.events('r')).at(-1)?.type).toBe('run.finished')
  })

  it('changes nothing of a run, whatever redact does to what it is given', async () => {
    const wipe = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return
      for (const [key, inner] of Object.entries(value)) {
        if (typeof inner === 'string' && key !== 'type') Reflect.set(value, key, '***')
        else wipe(inner)
      }
    }
    const journal = memoryJournal()
    const agent = adder(undefined, journal)
    const page = pageOf(
      inspected({
        agent,
        redact: (event) => {
          wipe(event)
          return event
        },
      }),
    )
    const outcome = await agent.run('1+2?', { runId: 'r' })
    expect(outcome).toMatchObject({ status: 'done', output: 'It is 3.' })
    expect(outcome.transcript[0]?.content).toBe('1+2?')
    await page.rows()
    await page.events('r')
    expect((await agent.replay('r')).ending?.transcript).toEqual(outcome.transcript)
  })

  it.each([
    { bounds: { bytes: -1 } },
    { bounds: { ofRun: { events: 0, bytes: 1 } } },
    { origins: 'https://app.example.com' },
    { pollMs: Number.NaN },
    { redact: 'no' },
    { journal: 5 },
  ])('cannot be made with %j', (options) => {
    const given = { journal: memoryJournal(), ...options } as InspectHandlerOptions
    expect(() => inspectHandler(given)).toThrow(expect.objectContaining({ code: 'invalid_option' }))
  })

  it('shows what is under way where the journal cannot be listed', async () => {
    const agent = adder(['hi'], journalThat({ list: () => Promise.reject(new Error('no connection')) }))
    const page = pageOf(inspected({ agent }))
    expect(await page.get('api/runs')).toMatchObject({
      status: 503,
      body: { error: { code: 'journal_error' } },
    })
    await agent.run('go', { runId: 'r' })
    expect(await page.rows()).toMatchObject([{ runId: 'r', status: 'done' }])
  })

  it('waits for no journal that hangs', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const never = (): Promise<never> => new Promise(() => {})
    const agent = adder(['hi'], journalThat({ list: never, load: never }))
    const page = pageOf(inspected({ agent }))
    await agent.run('go', { runId: 'r' })
    const rows = page.rows()
    // It is asked once for the page, and once for what comes after it.
    for (let asked = 0; asked < 2; asked++) {
      await new Promise(setImmediate)
      await vi.advanceTimersByTimeAsync(5000)
    }
    expect(await rows).toMatchObject([{ runId: 'r', status: 'done' }])
  })

  it('joins the beginning of a run from its journal to what was watched', async () => {
    const journal = memoryJournal()
    const tools = [{ ...countingAdd(), needsApproval: true }]
    const first = createAgent({ model: scriptedModel([adding]), tools, journal })
    await first.run('1+2?', { runId: 'r' })
    const agent = createAgent({ model: scriptedModel(['It is 3.']), tools, journal })
    const page = pageOf(inspected({ agent }))
    await agent.resume('r', { decisions: [{ callId: 'c', approved: true }] })
    const types = (await page.events('r')).map(({ type }) => type)
    expect(types.filter((type) => type === 'run.started' || type === 'run.finished')).toEqual([
      'run.started',
      'run.finished',
      'run.started',
      'run.finished',
    ])
    expect(types).toContain('model.delta')
    const reading = pageOf(inspected({ journal }))
    expect((await reading.events('r')).map(({ type }) => type)).toEqual(
      types.filter((type) => type !== 'model.delta'),
    )
    expect(await page.row('r')).toMatchObject({ question: '1+2?', status: 'done', steps: 2 })
  })

  it('takes from the journal what another process did with a run that was watched here', async () => {
    const journal = memoryJournal()
    const tools = [{ ...countingAdd(), needsApproval: true }]
    const again: ScriptedStep = { calls: [{ name: 'add', arguments: { a: 3, b: 4 }, id: 'd' }] }
    const here = createAgent({ model: scriptedModel([adding, 'It is 7.']), tools, journal })
    const page = pageOf(inspected({ agent: here }))
    await here.run('1+2?', { runId: 'r' })
    const elsewhere = createAgent({ model: scriptedModel([again]), tools, journal })
    await elsewhere.resume('r', { decisions: [{ callId: 'c', approved: true }] })
    await here.resume('r', { decisions: [{ callId: 'd', approved: true }] })
    const finished = (await page.events('r')).filter(({ type }) => type === 'tool.finished')
    expect(finished).toHaveLength(2)
  })

  it('names the run that a fork came from', async () => {
    const journal = memoryJournal()
    const agent = adder(['one', 'two'], journal)
    const page = pageOf(inspected({ agent }))
    await agent.run('go', { runId: 'r' })
    await agent.fork('r', { at: 1, runId: 'f' })
    expect(await page.row('f')).toMatchObject({ forkOf: { runId: 'r', at: 1 }, question: 'go' })
    expect(await page.rows()).toContainEqual(
      expect.objectContaining({ runId: 'f', forkOf: { runId: 'r', at: 1 } }),
    )
    // The model call that the fork begins with is made once, by the fork.
    const told = await pageOf(inspected({ journal })).events('f')
    expect(told.filter(({ type }) => type.startsWith('model.')).map(({ type }) => type)).toEqual([
      'model.started',
      'model.requested',
      'model.finished',
    ])
  })

  it.each([
    ['api/nothing', 404],
    ['api/runs/r/nothing', 404],
    ['api/runs/r/events/1/2', 404],
    ['api/runs/unknown', 404],
    ['api/runs/unknown/events', 404],
    ['api/runs/%E0%A4%A', 400],
    ['api/runs?status=odd', 400],
    ['api/runs?limit=many', 400],
    ['api/runs?limit=0', 400],
    ['api/runs?before=x', 400],
    ['api/runs/unknown/events?from=-1', 404],
    ['nothing.js', 404],
  ])('answers %s with %i, and says why', async (path, status) => {
    const { status: given, body } = await pageOf(inspected({ agent: adder() })).get<{
      error: { code: string }
    }>(path)
    expect(given).toBe(status)
    expect(body.error.code).not.toBe('internal_error')
  })

  it.each([{ agent: undefined }, { agent: {} }, { journal: undefined }])(
    'refuses to inspect nothing: %o',
    (options) => {
      expect(() => inspectHandler(options as never)).toThrow(
        expect.objectContaining({ code: 'invalid_option' }),
      )
    },
  )
})

describe('the handler where it is mounted', () => {
  it('answers below its path in Hono, and nowhere else', async () => {
    const agent = adder()
    await agent.run('1+2?', { runId: 'a/b' })
    const handler = inspected({ agent, basePath: '/admin/inspect' })
    const app = new Hono()
    app.use('/admin/*', async (context, next) => {
      if (context.req.header('authorization') !== 'me') return context.text('who are you?', 401)
      return next()
    })
    app.all('/admin/inspect', (context) => handler.fetch(context.req.raw))
    app.all('/admin/inspect/*', (context) => handler.fetch(context.req.raw))
    const headers = { authorization: 'me' }
    expect((await app.request('/admin/inspect/api/about')).status).toBe(401)
    expect(await (await app.request('/admin/inspect/api/runs/a%2Fb', { headers })).json()).toMatchObject({
      runId: 'a/b',
    })
    const bare = await app.request('/admin/inspect?x=1', { headers })
    expect([bare.status, bare.headers.get('location')]).toEqual([308, '/admin/inspect/?x=1'])
    expect(await (await app.request('/admin/inspect/', { headers })).text()).toContain('<html')
    expect((await handler.fetch(new Request('http://app.test/admin/inspection/api/about'))).status).toBe(404)
  })

  it('answers on node:http, whatever a router cut off of the path or parsed of the body', async () => {
    const journal = memoryJournal()
    const tools = [{ ...countingAdd(), needsApproval: true }]
    const agent = createAgent({ model: scriptedModel([adding, 'It is 3.']), tools, journal })
    await agent.run('1+2?', { runId: 'r' })
    const listener = nodeListener(inspected({ agent, basePath: '/inspect' }))
    const server = createServer(async (request, response) => {
      const pieces: Buffer[] = []
      for await (const piece of request) pieces.push(piece as Buffer)
      const text = Buffer.concat(pieces).toString()
      // As a router would: the path below the mount, and what it was.
      const routed = Object.assign(request, {
        originalUrl: request.url ?? '',
        url: (request.url ?? '').replace('/inspect', ''),
        ...(text === '' ? {} : { body: JSON.parse(text) as unknown }),
      })
      listener(routed, response)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/inspect`
      expect(await (await fetch(`${base}/api/runs/r`)).json()).toMatchObject({ status: 'waiting' })
      const decided = await fetch(`${base}/api/runs/r/decisions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ decisions: [{ callId: 'c', approved: true }] }),
      })
      expect(await decided.json()).toEqual({ ok: true })
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })

  it.each(['inspect', '/a?b', '/a#b'])('refuses "%s" as its path', (basePath) => {
    expect(() => inspectHandler({ agent: adder(), basePath })).toThrow(
      expect.objectContaining({ code: 'invalid_option' }),
    )
  })
})
