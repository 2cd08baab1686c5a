import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { readSwitch } from '../../src/inspectSwitch.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

interface Child {
  readonly stderr: string
  readonly stdout: string
  readonly code: number | null
}

/** Runs a script with two agents; it ends when its input does, if it waits for that. */
function runScript(
  env: Record<string, string>,
  onStderr: (text: string, end: () => void) => void = (_text, end) => end(),
): Promise<Child> {
  const { LOOPCHART_INSPECT: _inspect, NODE_ENV: _env, ...rest } = process.env
  const script = `
    import { createAgent } from './src/index.ts'
    import { scriptedModel } from './src/testing/index.ts'
    const one = createAgent({ name: 'one', model: scriptedModel(['1']) })
    const two = createAgent({ name: 'two', model: scriptedModel(['2']) })
    // Begins before anything of the inspector can have been loaded.
    await Promise.all([one.run('first?', { runId: 'a' }), two.run('second?', { runId: 'b' })])
    console.log('answered')
    if (process.env.STAY) await new Promise((resolve) => process.stdin.on('end', resolve).resume())
  `
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: root,
    env: { ...rest, ...env },
  })
  let stderr = ''
  let stdout = ''
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    stdout += piece
  })
  child.stderr.setEncoding('utf8').on('data', (piece: string) => {
    stderr += piece
    onStderr(stderr, () => child.stdin.end())
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
}

describe('LOOPCHART_INSPECT', () => {
  it.each([
    ['1', { port: 0, production: false }],
    ['4400', { port: 4400, production: false }],
    ['force', { port: 0, production: true }],
    ['force:4400', { port: 4400, production: true }],
    ['force:1', { port: 0, production: true }],
    ['yes', undefined],
    ['70000', undefined],
    ['force:', { port: 0, production: true }],
    ['force4400', undefined],
    ['-1', undefined],
  ])('%s is understood as %o', (value, asked) => {
    expect(readSwitch(value)).toEqual(asked)
  })

  it('shows all agents of a process in one inspector, from their first event on', async () => {
    let shown: Promise<unknown> | undefined
    const { code, stdout } = await runScript({ LOOPCHART_INSPECT: '1', STAY: '1' }, (stderr, end) => {
      const url = /inspector: (http:\S+)\n/.exec(stderr)?.[1]
      if (url === undefined || shown !== undefined) return
      shown = look(new URL(url)).finally(end)
    })
    expect(code).toBe(0)
    expect(stdout).toContain('answered')
    expect(await shown).toEqual([
      ['a', 'first?', 'one', 'run.started'],
      ['b', 'second?', 'two', 'run.started'],
    ])
  })

  it('keeps no process from ending', async () => {
    const { code, stdout } = await runScript({ LOOPCHART_INSPECT: '1' })
    expect(code).toBe(0)
    expect(stdout).toContain('answered')
  })

  it('is not followed in production, and says how it would be', async () => {
    const { code, stderr, stdout } = await runScript({ LOOPCHART_INSPECT: '1', NODE_ENV: 'production' })
    expect(code).toBe(0)
    expect(stdout).toContain('answered')
    expect(stderr).toContain('force')
    expect(stderr).not.toContain('inspector: http')
  })

  it('that cannot be followed costs a warning', async () => {
    const { code, stderr, stdout } = await runScript({ LOOPCHART_INSPECT: 'please' })
    expect(code).toBe(0)
    expect(stdout).toContain('answered')
    expect(stderr.match(/LOOPCHART_INSPECT/g)?.length).toBeGreaterThan(0)
    expect(stderr.match(/not "please"/g)).toHaveLength(1)
  })
})

/** The rows of the inspector, with the first event of each run, once both have ended. */
async function look(url: URL): Promise<unknown> {
  const headers = { authorization: `Bearer ${url.searchParams.get('token')}` }
  const get = async (path: string) =>
    (await fetch(new URL(path, url), { headers })).json() as Promise<unknown>
  type Row = { runId: string; question: string; agent: string; status: string }
  for (;;) {
    const { runs } = (await get('/api/runs')) as { runs: Row[] }
    if (runs.filter(({ status }) => status === 'done').length < 2) continue
    const rows = runs.toSorted((a, b) => (a.runId < b.runId ? -1 : 1))
    return Promise.all(
      rows.map(async ({ runId, question, agent }) => {
        const { events } = (await get(`/api/runs/${runId}/events`)) as {
          events: { event: { type: string } }[]
        }
        return [runId, question, agent, events[0]?.event.type]
      }),
    )
  }
}
