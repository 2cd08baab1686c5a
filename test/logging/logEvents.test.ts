import { Writable } from 'node:stream'
import pino from 'pino'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type AgentEvent, createAgent, defineTool, ModelError } from '../../src/index.ts'
import { type LogOptions, logEvents } from '../../src/logging/index.ts'
import { HANG, type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'

const fail = defineTool({
  name: 'fail',
  description: 'Fails.',
  input: z.object({ pin: z.string() }),
  run: async ({ pin }) => {
    throw new Error(`${pin} is wrong`)
  },
})

interface Line {
  readonly level: string
  readonly msg: string
  readonly event: string
  readonly runId: string
  readonly [fact: string]: unknown
}

/** What pino writes of a run. */
async function linesOf(
  script: readonly ScriptedStep[],
  options: LogOptions = {},
  signal?: AbortSignal,
): Promise<readonly Line[]> {
  const lines: Line[] = []
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)) as Line)
      done()
    },
  })
  const formatters = { level: (label: string) => ({ level: label }) }
  const logger = pino({ level: 'debug', formatters }, sink)
  const agent = createAgent({ model: scriptedModel(script), tools: [fail], modelRetries: 1 })
  await agent.run('My pin is 4711.', { onEvent: logEvents(logger, options), ...(signal ? { signal } : {}) })
  return lines
}

const failing: readonly ScriptedStep[] = [
  { calls: [{ name: 'fail', arguments: { pin: '4711' }, id: 'x' }] },
  'Your pin 4711 is wrong.',
]

describe('a structured log of a run', () => {
  it('has a line for each event that matters, with the facts of it', async () => {
    const lines = await linesOf(failing)
    expect(lines.filter(({ level }) => level !== 'debug').map(({ level, msg }) => `${level} ${msg}`)).toEqual(
      [
        'info run started',
        'info model finished',
        'warn tool fail failed',
        'info model finished',
        'info run done',
      ],
    )
    const [runId] = new Set(lines.map((line) => line.runId))
    expect(runId).toMatch(/^[\da-f-]{36}$/)
    expect(lines.find(({ event }) => event === 'tool.finished')).toMatchObject({
      place: 'tool.1.0',
      callId: 'x',
      tool: 'fail',
      error: 'failed',
      durationMs: expect.any(Number),
    })
    expect(lines.find(({ event }) => event === 'model.finished')).toMatchObject({
      finish: 'tool_calls',
      tools: ['fail'],
      usage: { inputTokens: 1, outputTokens: 1 },
    })
    expect(lines.at(-1)).toMatchObject({ status: 'done', steps: 2, toolCalls: { total: 1, failed: 1 } })
  })

  it('tells each edge of the chart, for those who look closely', async () => {
    const lines = await linesOf(failing)
    expect(lines.find(({ guard }) => guard === 'hasCalls')).toMatchObject({
      level: 'debug',
      msg: 'parsing → executingTools',
      cause: 'always',
    })
  })

  it('says nothing of what was said unless that is asked for', async () => {
    expect(JSON.stringify(await linesOf(failing))).not.toContain('4711')
    const lines = await linesOf(failing, { captureContent: true })
    expect(lines.find(({ event }) => event === 'tool.started')?.arguments).toBe('{"pin":"4711"}')
    expect(lines.at(-1)?.output).toBe('Your pin 4711 is wrong.')
  })

  it('warns of attempts that failed', async () => {
    const busy = new ModelError('overloaded', 'Too busy.', { retryable: true, retryAfterMs: 0 })
    const lines = await linesOf([busy, 'Hello.'])
    expect(lines.find(({ event }) => event === 'model.failed')).toMatchObject({
      level: 'warn',
      error: { code: 'overloaded' },
    })
    expect(lines.find(({ event }) => event === 'retry.scheduled')).toMatchObject({
      level: 'warn',
      failures: 1,
    })
  })

  it('ends with an error where there was no answer, and with a warning where somebody cancelled it', async () => {
    const refused = new ModelError('authentication', 'No such key.', { retryable: false })
    expect((await linesOf([refused])).at(-1)).toMatchObject({
      level: 'error',
      msg: 'run aborted',
      reason: 'model_error',
      error: { code: 'authentication' },
    })
    const cancelled = await linesOf([HANG], {}, AbortSignal.abort())
    expect(cancelled.at(-1)).toMatchObject({ level: 'warn', reason: 'cancelled' })
  })

  it('has the levels that it is given, and leaves out what has none', async () => {
    const level = ({ type }: AgentEvent) => (type === 'run.finished' ? 'debug' : undefined)
    const lines = await linesOf(failing, { level })
    expect(lines.map((line) => `${line.level} ${line.event}`)).toEqual(['debug run.finished'])
  })
})
