import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loopchart } from '../support/cli.ts'

let folder = ''
let file = ''

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'loopchart-inspect-'))
  file = join(folder, 'runs.db')
  await loopchart(['What is 6*7?', '--journal', file])
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Asks the inspector, whose address was printed, once it has been; then ends it as Ctrl-C does. */
function whileOpen<Found>(
  ask: (get: (path: string, init?: RequestInit) => Promise<Response>) => Promise<Found>,
) {
  let found: Promise<Found> | undefined
  return {
    found: () => found,
    onOutput(text: string, kill: (signal: NodeJS.Signals) => void): void {
      const address = /http:\S+\/\?token=\S+(?=\n)/.exec(text)?.[0]
      if (address === undefined || !text.includes('Ctrl-C ends') || found !== undefined) return
      const url = new URL(address)
      const headers = {
        authorization: `Bearer ${url.searchParams.get('token')}`,
        'content-type': 'application/json',
      }
      found = ask((path, init) => fetch(new URL(path, url), { headers, ...init })).finally(() =>
        kill('SIGINT'),
      )
    },
  }
}

describe('loopchart --inspect', () => {
  it('shows the run in the browser while it goes and after, until Ctrl-C', async () => {
    const { found, onOutput } = whileOpen(async (get) => (await get('api/runs')).json())
    const { code, stdout, stderr } = await loopchart(['What is 6*7?', '--inspect'], { onOutput })
    expect(code).toBe(0)
    expect(stdout).toContain('42')
    expect(stdout).not.toContain('http')
    expect(stderr).toContain('The inspector stays open. Ctrl-C ends it.')
    expect(await found()).toMatchObject({ runs: [{ question: 'What is 6*7?', status: 'done', steps: 2 }] })
  })

  it.each([
    [['What?', '--inspect=http'], '--inspect needs a port'],
    [['What?', '--inspect=70000'], '--inspect needs a port'],
    [['runs', '--inspect'], 'runs runs nothing to watch'],
    [['What?', '--open'], '--open is for --inspect'],
    [['What?', '--port', '4400'], '--port is for loopchart inspect'],
    [['inspect', '--port', 'x'], '--port needs a port'],
    [['inspect', '--inspect'], 'from --port'],
    [['inspect', 'a.db', '--journal', 'b.db'], 'one file'],
    [['inspect', 'nowhere.db'], 'There is no journal at nowhere.db'],
  ])('says what is wrong with %j', async (args, message) => {
    const { code, stderr } = await loopchart(args)
    expect(code).toBe(2)
    expect(stderr).toContain(message)
    expect(existsSync('nowhere.db')).toBe(false)
  })
})

describe('loopchart inspect', () => {
  it('shows the runs of a file, and acts on none', async () => {
    const { found, onOutput } = whileOpen(async (get) => {
      const { runs } = (await (await get('api/runs')).json()) as { runs: { runId: string }[] }
      const [{ runId } = { runId: '' }] = runs
      const { events } = (await (await get(`api/runs/${runId}/events`)).json()) as {
        events: { event: { type: string } }[]
      }
      const acted = await get(`api/runs/${runId}/fork`, { method: 'POST', body: '{"at":1}' })
      return { runs, last: events.at(-1)?.event.type, acted: acted.status }
    })
    const { code, stdout } = await loopchart(['inspect', file], { onOutput })
    expect(code).toBe(0)
    expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\?token=\S+\n$/)
    expect(await found()).toMatchObject({
      runs: [{ question: 'What is 6*7?', status: 'done', isLive: false }],
      last: 'run.finished',
      acted: 403,
    })
  })
})
