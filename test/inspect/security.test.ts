import { request as httpRequest } from 'node:http'
import { createServer } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type Agent, createAgent, memoryJournal } from '../../src/index.ts'
import { type InspectOptions, type Inspector, inspect, inspectHandler } from '../../src/inspect/index.ts'
import { HANG, scriptedModel } from '../../src/testing/index.ts'
import { rejectionOf } from '../support/outcome.ts'
import { deferred, returning } from '../support/tools.ts'
import { pageOf } from './support.ts'

const open: Inspector[] = []
afterEach(async () => {
  vi.unstubAllEnvs()
  for (const inspector of open.splice(0)) await inspector.close()
})

function helper(): Agent {
  return createAgent({ model: scriptedModel(['hi']), journal: memoryJournal() })
}

async function inspected(options: Partial<InspectOptions> = {}): Promise<Inspector> {
  const inspector = await inspect({ agent: helper(), ...options })
  open.push(inspector)
  return inspector
}

interface RawAnswer {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly body: string
}

/** As any program could ask: with whatever headers and path it likes. */
function raw(
  { port }: Inspector,
  path: string,
  {
    method = 'GET',
    headers = {},
    body = '',
  }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const asked = httpRequest({ port, host: '127.0.0.1', path, method, headers }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
      })
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: text }))
    })
    asked.on('error', reject)
    asked.end(body)
  })
}

function tokenOf({ url }: Inspector): string {
  return new URL(url).searchParams.get('token') ?? ''
}

async function cookieOf(inspector: Inspector): Promise<string> {
  const { headers } = await raw(inspector, `/?token=${tokenOf(inspector)}`)
  return String(headers['set-cookie']?.[0]).split(';')[0] ?? ''
}

describe('the local inspector', () => {
  it('lets in whoever opens its URL, and nobody else', async () => {
    const inspector = await inspected()
    expect(inspector.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{43}$/)
    const welcome = await raw(inspector, `/?token=${tokenOf(inspector)}`)
    expect(welcome).toMatchObject({ status: 303, headers: { location: '/' } })
    const [cookie = ''] = welcome.headers['set-cookie'] ?? []
    expect(cookie).toMatch(/; Path=\/; HttpOnly; SameSite=Strict$/)
    const headers = { cookie: `other=1; ${await cookieOf(inspector)}` }
    expect((await raw(inspector, '/api/about', { headers })).status).toBe(200)
    expect((await raw(inspector, '/', { headers })).body).toContain('<html')
    for (const path of [
      '/',
      '/api/about',
      '/api/runs',
      '/?token=',
      '/?token=x',
      `/?token=${tokenOf(inspector)}x`,
    ]) {
      const refused = await raw(inspector, path)
      expect([path, refused.status, refused.headers['set-cookie']]).toEqual([path, 401, undefined])
    }
    const forged = { cookie: `${(await cookieOf(inspector)).slice(0, -1)}!` }
    expect((await raw(inspector, '/api/about', { headers: forged })).status).toBe(401)
    const bearer = { authorization: `Bearer ${tokenOf(inspector)}` }
    expect((await raw(inspector, '/api/about', { headers: bearer })).status).toBe(200)
  })

  it('has another token and another cookie each time', async () => {
    const [one, two] = [await inspected(), await inspected()]
    expect(tokenOf(one)).not.toBe(tokenOf(two))
    expect((await cookieOf(one)).split('=')[0]).not.toBe((await cookieOf(two)).split('=')[0])
    expect((await raw(two, '/api/about', { headers: { cookie: await cookieOf(one) } })).status).toBe(401)
  })

  it.each(['evil.example', '127.0.0.1.evil.example', 'localhost', '0.0.0.0'])(
    'answers to no other name, such as %s, that was given its address',
    async (name) => {
      const inspector = await inspected()
      const headers = { cookie: await cookieOf(inspector) }
      const host = `${name}:${name === 'localhost' ? inspector.port + 1 : inspector.port}`
      const { status, body } = await raw(inspector, '/api/about', { headers: { ...headers, host } })
      expect(status).toBe(421)
      expect(body).toContain('foreign_host')
      const fine = await raw(inspector, '/api/about', {
        headers: { ...headers, host: `localhost:${inspector.port}` },
      })
      expect(fine.status).toBe(200)
    },
  )

  it.each(['http://evil.example', 'https://127.0.0.1:1', 'null'])(
    'refuses what a page at %s asks for',
    async (origin) => {
      const inspector = await inspected()
      const headers = { cookie: await cookieOf(inspector), origin }
      expect((await raw(inspector, '/api/runs', { headers })).status).toBe(403)
      const posted = await raw(inspector, '/api/runs/r/cancel', {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: '{}',
      })
      expect(posted.status).toBe(403)
      const own = { ...headers, origin: `http://127.0.0.1:${inspector.port}` }
      expect((await raw(inspector, '/api/runs', { headers: own })).status).toBe(200)
    },
  )

  it.each([
    '/../package.json',
    '/..%2f..%2fpackage.json',
    '/page/../../package.json',
    '//etc/passwd',
    '/%00',
    '/assets.ts',
  ])('serves no file but those of its page: not %s', async (path) => {
    const inspector = await inspected()
    const { status } = await raw(inspector, path, { headers: { cookie: await cookieOf(inspector) } })
    expect(status).toBe(404)
  })

  it('says in every answer that nothing of it is to run, be framed, be kept or be shared', async () => {
    const inspector = await inspected()
    const headers = { cookie: await cookieOf(inspector) }
    for (const path of ['/', '/api/about', '/api/nothing', '/nothing']) {
      const answer = await raw(inspector, path, { headers })
      expect(answer.headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'cross-origin-resource-policy': 'same-origin',
      })
      expect(answer.headers['content-security-policy']).toContain("default-src 'none'")
      expect(answer.headers['content-security-policy']).toContain("frame-ancestors 'none'")
      expect(answer.headers['content-security-policy']).not.toContain('unsafe')
      expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
    }
  })

  it('does not start in production unless it is asked to', async () => {
    vi.stubEnv('NODE_ENV', 'production')
    expect(await rejectionOf(inspect({ agent: helper() }))).toMatchObject({ code: 'inspect_production' })
    expect((await inspected({ production: true })).port).toBeGreaterThan(0)
  })

  it('says that a port is taken, and watches nothing then', async () => {
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    const { port } = taken.address() as { port: number }
    let isStreamed: boolean | undefined
    const agent = createAgent({
      model: scriptedModel([
        (_request, io) => {
          isStreamed = io.onDelta !== undefined
          return 'hi'
        },
      ]),
    })
    expect(await rejectionOf(inspect({ agent, port }))).toMatchObject({
      code: 'port_taken',
      message: expect.stringContaining(String(port)),
    })
    await agent.run('go')
    expect(isStreamed).toBe(false)
    taken.close()
  })

  it.each([{ host: '0.0.0.0' }, { host: 'example.com' }])(
    'listens on the loopback address only, not on %o',
    async (options) => {
      expect(await rejectionOf(inspect({ agent: helper(), ...(options as object) }))).toMatchObject({
        code: 'not_loopback',
      })
    },
  )

  it.each([-1, 70_000, 1.5, Number.NaN])('refuses the port %d', async (port) => {
    expect(await rejectionOf(inspect({ agent: helper(), port }))).toMatchObject({ code: 'invalid_option' })
  })

  it('ends with its streams and connections when it is closed, and watches no more', async () => {
    const agent = helper()
    const inspector = await inspect({ agent })
    const headers = { authorization: `Bearer ${tokenOf(inspector)}` }
    const { body } = await fetch(`http://127.0.0.1:${inspector.port}/api/stream`, { headers })
    const reader = body?.getReader()
    await reader?.read()
    await inspector.close()
    await expect(
      Promise.resolve(reader?.read()).then(
        (read) => read?.done ?? true,
        () => true,
      ),
    ).resolves.toBe(true)
    await expect(raw(inspector, '/')).rejects.toThrow()
    await inspector.close()
  })
})

describe('the handler', () => {
  const page = () => {
    const agent = helper()
    return { agent, handler: inspectHandler({ agent }) }
  }
  const ask = (path: string, init: RequestInit) =>
    page().handler.fetch(new Request(`http://app.test${path}`, init))
  const post = (headers: Record<string, string>, body = '{}', path = '/api/runs/r/cancel') =>
    ask(path, { method: 'POST', headers, body })

  it('takes no word of a form or of another site', async () => {
    const json = 'application/json'
    expect((await post({ 'content-type': 'text/plain' })).status).toBe(415)
    expect((await post({ 'content-type': 'application/x-www-form-urlencoded' })).status).toBe(415)
    expect((await post({ 'content-type': json, origin: 'http://evil.example' })).status).toBe(403)
    expect((await post({ 'content-type': json, 'sec-fetch-site': 'cross-site' })).status).toBe(403)
    expect((await post({ 'content-type': json, 'sec-fetch-site': 'same-site' })).status).toBe(403)
    expect(
      (await post({ 'content-type': `${json}; charset=utf-8`, 'sec-fetch-site': 'same-origin' })).status,
    ).toBe(404)
    const read = { headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' } }
    expect((await ask('/api/runs', read)).status).toBe(403)
    const opened = { headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' } }
    expect((await ask('/', opened)).status).toBe(200)
  })

  it('knows the address at which a proxy shows it', async () => {
    const agent = helper()
    const { fetch } = inspectHandler({ agent, origins: ['https://app.example.com'] })
    const from = (origin: string) =>
      fetch(new Request('http://internal:3000/api/runs', { headers: { origin } })).then(
        ({ status }) => status,
      )
    expect(await from('https://app.example.com')).toBe(200)
    expect(await from('http://internal:3000')).toBe(200)
    expect(await from('https://app.example.com.evil.example')).toBe(403)
  })

  it.each([
    ['{', 400],
    ['[]', 400],
    ['null', 400],
    [`{"message":"${'x'.repeat(1_000_001)}"}`, 413],
  ])('refuses a body that is none or too large', async (body, status) => {
    expect((await post({ 'content-type': 'application/json' }, body)).status).toBe(status)
  })

  it.each([
    ['GET', '/api/runs/r/cancel', 405],
    ['POST', '/api/runs', 405],
    ['POST', '/', 405],
    ['PUT', '/api/runs/r/cancel', 405],
    ['OPTIONS', '/api/runs', 405],
    ['HEAD', '/', 200],
  ])('answers %s %s with %i', async (method, path, status) => {
    expect((await ask(path, { method, headers: { 'content-type': 'application/json' } })).status).toBe(status)
  })

  it('shows runs only, where it is told not to act', async () => {
    const begun = deferred<void>()
    const agent = createAgent({ model: scriptedModel([HANG]) })
    agent.watch(({ type }) => type === 'model.requested' && begun.resolve())
    const shown = pageOf(inspectHandler({ agent, acts: false }))
    const run = agent.stream('go', { runId: 'r' })
    await begun.promise
    for (const act of ['cancel', 'messages', 'decisions', 'resume', 'fork']) {
      expect(await shown.post(`api/runs/r/${act}`)).toMatchObject({
        status: 403,
        body: { error: { code: 'read_only' } },
      })
    }
    expect(agent.activeRuns()).toHaveLength(1)
    run.abort()
    await run.outcome
  })
})

describe('what redact takes out', () => {
  const secret = 'hunter2'
  const redact = <Value>(value: Value): Value =>
    JSON.parse(JSON.stringify(value).replaceAll(secret, '•••')) as Value
  const steps = [{ calls: [{ name: 'ask', arguments: { password: secret }, id: 'c' }] }, `It is ${secret}.`]
  const tools = [{ ...returning(Promise.resolve(`the password is ${secret}`), 'ask'), needsApproval: true }]

  /** Everything that a page can be told. */
  async function wire(handler: ReturnType<typeof inspectHandler>): Promise<string> {
    const page = pageOf(handler)
    const stream = await page.stream('?run=r&from=0')
    let text = ''
    await stream.until((message) => {
      text += JSON.stringify(message)
      return message.type === 'event' && message.event.event.type === 'run.finished'
    })
    await stream.leave()
    const rows = JSON.stringify([await page.rows(), await page.row('r')])
    const { body } = await page.get<unknown>('api/runs/r/events?from=0')
    const whole = await page.get<unknown>('api/runs/r/events/4')
    const search = JSON.stringify(await page.rows(`?search=${secret}`))
    return text + rows + JSON.stringify(body) + JSON.stringify(whole.body) + search
  }

  it.each([
    ['waiting', false],
    ['done', true],
  ])(
    'is on no wire, from a run that was watched or one that is told from its journal: %s',
    async (status, decide) => {
      const journal = memoryJournal()
      const agent = createAgent({
        model: scriptedModel(steps),
        tools,
        journal,
        redact,
        instructions: `Keep ${secret}.`,
      })
      const watching = inspectHandler({ agent })
      await agent.run(`My password is ${secret}`, { runId: 'r' })
      if (decide) await agent.resume('r', { decisions: [{ callId: 'c', approved: true }] })
      const handlers = [
        watching,
        inspectHandler({ agent }),
        inspectHandler({ journal, redact }),
        // A run of an agent that is not there is shown as those that are would show theirs.
        inspectHandler({
          agents: [createAgent({ model: scriptedModel([]), name: 'other', redact })],
          journal,
        }),
      ]
      for (const handler of handlers) {
        const text = await wire(handler)
        expect(text).toContain(`"status":"${status}"`)
        expect(text).toContain('•••')
        expect(text).not.toContain(secret)
      }
    },
  )
})
