import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parseCommand } from '../../src/cli/arguments.ts'
import { printable, printableLine } from '../../src/cli/printable.ts'
import { startOfflineEndpoint } from '../../src/offline/index.ts'
import { loopchart } from '../support/cli.ts'
import { json, loopback } from '../support/loopback.ts'

const question = '北京天气怎么样？顺便算一下 15*8+32'

describe('loopchart "question"', () => {
  it('shows the loop at work and answers, offline', async () => {
    const { code, stdout, stderr } = await loopchart([question])
    expect(code).toBe(0)
    expect(stdout).toContain('152')
    expect(stdout).toContain('北京')
    expect(stderr).toContain('not a language model')
    const states = stderr.split('\n').flatMap((line) => /^● (\w+)/.exec(line)?.[1] ?? [])
    expect(states).toEqual([
      'thinking',
      'parsing',
      'executingTools',
      'observing',
      'thinking',
      'parsing',
      'done',
    ])
    expect(stderr).toContain('→ get_weather {"city":"北京"}')
    expect(stderr).toContain('→ calculate {"expression":"15*8+32"}')
    expect(stderr).toMatch(/done · 2 steps · 2 tool calls · \d+ tokens in, \d+ out · /)
  })

  it('asks for both tools before either has finished', async () => {
    const { stderr } = await loopchart([question])
    const lines = stderr.split('\n').filter((line) => /^ {2}[→✓] (get_weather|calculate)/.test(line))
    expect(lines.map((line) => line.trim()[0])).toEqual(['→', '→', '✓', '✓'])
  })

  it('writes the answer alone to standard output', async () => {
    const { stdout } = await loopchart(['What is 2+2?'])
    expect(stdout.trim().split('\n')).toHaveLength(1)
  })

  it('has no colours where it does not write to a terminal', async () => {
    const { stdout, stderr } = await loopchart(['What is 2+2?'])
    expect(stdout + stderr).not.toContain('\u001b[')
  })

  it('prints events as JSON lines and nothing else on standard output with --json', async () => {
    const { code, stdout } = await loopchart(['--json', question])
    expect(code).toBe(0)
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; outcome?: unknown })
    expect(events[0]?.type).toBe('run.started')
    expect(events.at(-1)).toMatchObject({ type: 'run.finished', outcome: { status: 'done', steps: 2 } })
    expect(events.filter(({ type }) => type === 'tool.finished')).toHaveLength(2)
  })

  it('reads the question from standard input where there is none on the command line', async () => {
    const { code, stdout } = await loopchart([], { input: 'What is 6*7?\n' })
    expect(code).toBe(0)
    expect(stdout).toContain('42')
  })

  it('talks to the endpoint that the environment names', async () => {
    await using endpoint = await startOfflineEndpoint({ apiKey: 'secret', models: ['my-model'] })
    const env = { OPENAI_API_KEY: 'secret', OPENAI_BASE_URL: endpoint.baseURL, LOOPCHART_MODEL: 'my-model' }
    const { code, stdout, stderr } = await loopchart(['What is 6*7?'], { env })
    expect(code).toBe(0)
    expect(stdout).toContain('42')
    expect(stderr).toContain(`my-model at ${endpoint.baseURL}`)
    expect(stderr).not.toContain('stand-in')
  })

  it('concludes at the limit of steps that --steps sets', async () => {
    const { code, stderr } = await loopchart(['--steps', '1', question])
    expect(code).toBe(0)
    expect(stderr).toContain('limit steps (1)')
    expect(stderr).toContain('● concluding')
  })

  it.each(['SIGINT', 'SIGTERM'] as const)('is stopped cleanly by %s, with code 130', async (signal) => {
    const deaf = createServer(() => {})
    await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', resolve))
    const address = deaf.address() as { port: number }
    let asked = false
    const { code, stderr } = await loopchart(['hi'], {
      env: { OPENAI_BASE_URL: `http://127.0.0.1:${address.port}/v1` },
      onOutput: (text, kill) => {
        if (asked || !text.includes(' at http')) return
        asked = true
        kill(signal)
      },
    })
    deaf.closeAllConnections()
    deaf.close()
    expect(stderr).toContain('aborted')
    expect(code).toBe(130)
  })
})

describe('what goes wrong', () => {
  const oneLine = (stderr: string): string => {
    expect(stderr).not.toMatch(/^\s+at /m)
    return stderr
  }

  it.each([
    [['--nonsense'], "Unknown option '--nonsense'. See loopchart --help."],
    [['--steps', 'many', 'hi'], '--steps needs a whole number of at least 1, not "many".'],
    [['--steps', '0', 'hi'], '--steps needs a whole number of at least 1, not "0".'],
    [['--base-url', 'localhost', 'hi'], '--base-url needs a URL such as'],
    [['--model', 'gpt-4.1', 'hi'], '--model gpt-4.1 needs an endpoint: set OPENAI_API_KEY'],
    [['-5+3'], 'Write -- before a question that begins with a dash.'],
    [['  '], 'There is no question.'],
    [[], 'There is no question.'],
  ])('%j is misuse: one line, code 2', async (args, message) => {
    const { code, stdout, stderr } = await loopchart(args)
    expect(code).toBe(2)
    expect(stdout).toBe('')
    expect(oneLine(stderr).trim().split('\n')).toHaveLength(1)
    expect(stderr).toContain(message)
  })

  it('a key that is refused says what to check, with code 1', async () => {
    await using endpoint = await startOfflineEndpoint({ apiKey: 'right' })
    const env = {
      OPENAI_API_KEY: 'wrong',
      OPENAI_BASE_URL: endpoint.baseURL,
      LOOPCHART_MODEL: endpoint.model,
    }
    const { code, stderr } = await loopchart(['hi'], { env })
    expect(code).toBe(1)
    expect(oneLine(stderr)).toContain(`The API key was refused by ${endpoint.model} at ${endpoint.baseURL}`)
    expect(stderr).toContain('Check OPENAI_API_KEY')
  })

  it('a model that is unknown says how to name another', async () => {
    await using endpoint = await startOfflineEndpoint()
    const env = { OPENAI_BASE_URL: endpoint.baseURL, LOOPCHART_MODEL: 'nope' }
    const { code, stderr } = await loopchart(['hi'], { env })
    expect(code).toBe(1)
    expect(oneLine(stderr)).toContain('--model or LOOPCHART_MODEL')
  })

  it('an endpoint that cannot be reached says which', async () => {
    const gone = await loopback([json({})])
    await gone[Symbol.asyncDispose]()
    const { code, stderr } = await loopchart(['hi'], { env: { OPENAI_BASE_URL: gone.baseURL } })
    expect(code).toBe(1)
    expect(oneLine(stderr)).toContain(`${gone.baseURL} cannot be reached`)
    expect(stderr).toContain('trying again in')
  })

  it('shows its stack with --verbose', async () => {
    await using endpoint = await startOfflineEndpoint({ apiKey: 'right' })
    const env = { OPENAI_API_KEY: 'wrong', OPENAI_BASE_URL: endpoint.baseURL }
    const { stderr } = await loopchart(['--verbose', 'hi'], { env })
    expect(stderr).toMatch(/^\s+at /m)
  })
})

describe('what is shown', () => {
  it('has control characters of models and servers made visible', () => {
    expect(printable('a\u001b[2Jb\u009bc\r\u202ed\n\te')).toBe('a\\u001b[2Jb\\u009bc\\u000d\\u202ed\n\te')
    expect(printableLine(' two\nlines\u0007 ')).toBe('two lines\\u0007')
  })

  it('survives a reader of the progress that leaves', async () => {
    const child = spawn(process.execPath, [
      fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url)),
      '6*7',
    ])
    child.stderr.destroy()
    child.stdin.end()
    expect(await text(child.stdout)).toContain('42')
  })
})

describe('the other commands', () => {
  it('graph prints the chart', async () => {
    const { code, stdout } = await loopchart(['graph'])
    expect(code).toBe(0)
    expect(stdout).toContain('stateDiagram-v2')
    expect(stdout).toContain('executingTools')
  })

  it.each([
    ['mermaid', 'stateDiagram-v2'],
    ['dot', 'digraph "agent" {'],
    ['svg', '<svg xmlns="http://www.w3.org/2000/svg"'],
  ])('graph --format %s prints it in that language, with the limits', async (format, beginning) => {
    const { code, stdout } = await loopchart(['graph', '--format', format])
    expect(code).toBe(0)
    expect(stdout.startsWith(beginning)).toBe(true)
    expect(stdout).toContain('steps 8 → conclude')
  })

  it('graph takes no other language, and only graph has any', () => {
    expect(() => parseCommand(['graph', '--format', 'png'])).toThrow(
      '--format needs one of mermaid, dot, svg, not "png".',
    )
    expect(() => parseCommand(['runs', '--format', 'svg'])).toThrow('--format is for loopchart graph.')
  })

  it('--help and --version print to standard output', async () => {
    expect((await loopchart(['--help'])).stdout).toContain('Usage:')
    expect((await loopchart(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  it('"graph" among other words is a question', () => {
    expect(parseCommand(['draw', 'a', 'graph'])).toMatchObject({ name: 'ask', question: 'draw a graph' })
  })
})
