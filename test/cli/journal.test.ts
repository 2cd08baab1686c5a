import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseCommand } from '../../src/cli/arguments.ts'
import { look } from '../../src/cli/journalCommands.ts'
import { createAgent, type Journal, JournalError, memoryJournal } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { recordedRun } from '../replay/support.ts'
import { loopchart } from '../support/cli.ts'
import { journalOf, journalThat } from '../support/journals.ts'

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'loopchart-cli-'))
})

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

/** What a command prints that only looks at runs. */
async function printed(journal: Journal, ...argv: readonly string[]): Promise<string> {
  const output = new PassThrough()
  await look(parseCommand(argv) as Parameters<typeof look>[0], journal, output)
  return text(output.end())
}

describe('looking at runs', () => {
  it('lists them with what was asked, and an unreadable one does not hide the others', async () => {
    const { journal } = await recordedRun()
    const model = scriptedModel([])
    await createAgent({ model, journal }).run('Who\nwrote Faust?', { runId: 'failed' })
    await journal.append('broken', [{ type: 'waiting', at: 5 }], 0)
    const load: Journal['load'] = (runId) => {
      if (runId !== 'broken') return journal.load(runId)
      throw new JournalError('Entry 0 cannot be read.', { runId, position: 0 })
    }
    const lines = (await printed(journalThat({ ...journal, load }), 'runs')).trimEnd().split('\n')
    expect(lines[0]).toMatch(/^ID +STATUS +STEPS +STARTED +QUESTION$/)
    expect(lines.find((line) => line.startsWith('r '))).toMatch(/done +3 {2}\d{4}-\d\d-\d\d \d\d:\d\d {2}go$/)
    expect(lines.find((line) => line.startsWith('failed '))).toMatch(
      /aborted \(model_error\) +1 .* {2}Who wrote Faust\?$/,
    )
    expect(lines.find((line) => line.startsWith('broken '))).toMatch(
      /waiting .*\(Entry 0 cannot be read\.\)$/,
    )
    expect(await printed(journal, 'runs', '--status', 'done', '--limit', '1')).not.toContain('failed')
    expect(await printed(memoryJournal(), 'runs')).toBe('No runs.\n')
    expect(await printed(memoryJournal(), 'runs', '--json')).toBe('')
  })

  it('shows what was said and done, step by step', async () => {
    const { journal } = await recordedRun()
    const shown = await printed(journal, 'show', 'r')
    expect(shown).toContain(
      '  user  go\n\nstep 1\n  → add {"a":1,"b":2} a\n  → add {"a":3,"b":4} b\n  ← 3 a\n  ← 7 b\n',
    )
    expect(shown).toContain(
      'step 3\n  model  3 and 7.\n\ndone · 3 steps · 3 tool calls · 27 tokens in, 3 out\n',
    )
  })

  it('names the limit that stopped a run, in the list and in the last line', async () => {
    const { journal } = await recordedRun(undefined, { errorStreak: 1 })
    expect(await printed(journal, 'runs')).toContain('done (limit errorStreak)  ')
    const shown = await printed(journal, 'show', 'r')
    expect(shown).toContain('  ! limit errorStreak (1): 1 tool call in a row failed\n')
    expect(shown).toContain('\nclosing answer\n  model  3 and 7.\n')
    expect(shown).toContain('\ndone, stopped by limit errorStreak (1) · 2 steps · ')
    expect(shown.match(/^step \d$/gm)).toEqual(['step 1', 'step 2'])
  })

  it('cuts long messages, and shows them whole where that is asked for', async () => {
    const journal = memoryJournal()
    const long = `It begins.\n${'word '.repeat(60)}\nIt ends.`
    await createAgent({ model: scriptedModel([long]), journal }).run('go', { runId: 'r' })
    const cut = await printed(journal, 'show', 'r')
    expect(cut).not.toContain('It ends.')
    expect(cut).toContain('--full shows all of them.\n')
    const full = await printed(journal, 'show', 'r', '--full')
    expect(full).toContain('  model  It begins.\n      word word')
    expect(full).toContain('\n      It ends.\n')
    expect(full).not.toContain('--full')
  })

  it('says of each run in JSON what was asked, of which agent, and where it comes from', async () => {
    const { journal } = await recordedRun(undefined, { errorStreak: 1 })
    const agent = createAgent({ name: 'other', model: scriptedModel(['Other.']), journal })
    await agent.fork('r', { at: 2, runId: 'fork' })
    const lines = (await printed(journal, 'runs', '--json')).trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line)).find(({ runId }) => runId === 'fork')).toMatchObject({
      status: 'done',
      question: 'go',
      agent: 'other',
      model: 'scripted',
      forkOf: { runId: 'r', at: 2 },
    })
    expect(lines.map((line) => JSON.parse(line)).find(({ runId }) => runId === 'r')).toMatchObject({
      question: 'go',
      limit: 'errorStreak',
    })
    expect(await printed(journal, 'runs')).toMatch(/^fork .* {2}fork of r, step 2: go$/m)
  })

  it('replays each entry with the edges that were taken', async () => {
    const { journal } = await recordedRun(undefined, { errorStreak: 1 })
    const shown = await printed(journal, 'replay', 'r')
    expect(shown).toContain('started: go  step 1 · thinking.calling\n')
    expect(shown).toContain('model.1.1 asked for add, add  step 1 · executingTools\n')
    expect(shown).toContain('parsing → executingTools [hasCalls] on always\n')
    expect(shown).toContain('! limit errorStreak (1): 1 tool call in a row failed\n')
    expect(shown).toContain('closing.1 answered: 3 and 7.  step 2 · done\n')
  })

  it('prints JSON lines and nothing else with --json', async () => {
    const { journal, entries } = await recordedRun()
    const lines = async (...argv: readonly string[]): Promise<unknown[]> =>
      (await printed(journal, ...argv, '--json'))
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
    expect(await lines('runs')).toMatchObject([{ runId: 'r', status: 'done' }])
    expect(await lines('show', 'r')).toEqual(entries)
    expect(await lines('replay', 'r')).toMatchObject(entries.map((entry, position) => ({ position, entry })))
    expect(await lines('diff', 'r', 'r')).toEqual([null])
  })

  it('shows where two runs part', async () => {
    const { journal } = await recordedRun()
    const agent = createAgent({ model: scriptedModel(['Other.']), journal })
    await agent.fork('r', { at: 3, runId: 'fork' })
    expect(await printed(journal, 'diff', 'r', 'fork')).toContain(
      'The runs r and fork part in step 3:\n- the model said 3 and 7. in the first, Other. in the second\n',
    )
    expect(await printed(journal, 'show', 'fork')).toContain('fork of  r, step 3')
    expect(await printed(journal, 'diff', 'r', 'r')).toBe('The runs r and r do not part.\n')
  })

  it('finds a run by the beginning of its id, and says where that is none or several', async () => {
    const { entries } = await recordedRun()
    const journal = await journalOf(entries, 'run-one')
    expect(await printed(journal, 'show', 'run-o')).toContain('run-one')
    await journal.append('run-two', entries, 0)
    await expect(printed(journal, 'show', 'run')).rejects.toThrow(
      '"run" is the beginning of several runs: run-two, run-one.',
    )
    await expect(printed(journal, 'show', 'walk')).rejects.toThrow('There is no run "walk" in the journal.')
  })

  it('makes control characters of what was said visible', async () => {
    const journal = memoryJournal()
    const agent = createAgent({ model: scriptedModel(['\u001b[2J gone']), journal })
    await agent.run('go', { runId: 'r' })
    for (const command of ['show', 'replay']) {
      expect(await printed(journal, command, 'r')).toContain('\\u001b[2J gone')
    }
  })
})

describe('loopchart --journal', () => {
  it('keeps runs, which other commands find, fork and go on with', { timeout: 60_000 }, async () => {
    const journal = ['--journal', join(folder, 'kept', 'runs.db')]
    const asked = await loopchart([...journal, 'What is 6*7?'])
    expect(asked.stderr).toMatch(/kept as [\w-]{36} in /)
    const [summary] = (await loopchart(['runs', ...journal, '--json'])).stdout.trim().split('\n')
    const { runId } = JSON.parse(summary ?? '') as { runId: string }
    const fork = await loopchart([
      'fork',
      runId.slice(0, 8),
      '--at',
      '2',
      '--reply',
      'Forty-two.',
      ...journal,
    ])
    expect(fork).toMatchObject({ code: 0, stdout: 'Forty-two.\n' })
    const { stdout } = await loopchart(['runs', ...journal])
    expect(stdout.match(/ done .* What is 6\*7\?/g)).toHaveLength(2)
    const over = await loopchart(['resume', runId, ...journal])
    expect(over).toMatchObject({ code: 0, stdout: '6*7 = 42.\n' })
    expect(over.stderr).toMatch(/^The run has ended already/)
    expect(over.stderr).not.toContain('loopchart-stand-in')
  })

  it('goes on with a run whose process was killed', { timeout: 60_000 }, async () => {
    const deaf = createServer(() => {})
    await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', resolve))
    const journal = ['--journal', join(folder, 'killed.db')]
    const baseURL = `http://127.0.0.1:${(deaf.address() as AddressInfo).port}/v1`
    const asked = loopchart(['What is 6*7?', ...journal], {
      env: { OPENAI_BASE_URL: baseURL },
      onOutput: (written, kill) => written.includes('● thinking') && kill('SIGKILL'),
    })
    expect((await asked).code).toBeNull()
    deaf.closeAllConnections()
    deaf.close()
    const running = await loopchart(['runs', '--status', 'running', '--json', ...journal])
    const { runId } = JSON.parse(running.stdout) as { runId: string }
    const resumed = await loopchart(['resume', runId, ...journal])
    expect(resumed).toMatchObject({ code: 0, stdout: '6*7 = 42.\n' })
  })

  it('says in one line what is wrong', { timeout: 60_000 }, async () => {
    const missing = join(folder, 'missing.db')
    const { code, stdout, stderr } = await loopchart(['runs', '--journal', missing])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toBe(
      `loopchart: There is no journal at ${missing}. Keep one with: loopchart --journal ${missing} "question"\n`,
    )
    const { sqliteStore } = await import('../../src/sqlite/index.ts')
    const path = join(folder, 'other.db')
    const store = sqliteStore({ path })
    await createAgent({ model: scriptedModel(['ok']), journal: store.journal }).run('go', { runId: 'mine' })
    store.close()
    const other = await loopchart(['resume', 'mine', '--journal', path])
    expect(other.code).toBe(1)
    expect(other.stderr).toBe(
      'loopchart: The run "mine" is of another program, which alone has its tools. Go on with it there: agent.resume or agent.fork.\n',
    )
  })
})

describe('the words of the command line', () => {
  it.each([
    ['show'],
    ['resume'],
    ['fork'],
    ['diff'],
    ['diff', '4e1f'],
    ['show', '4e1f', 'x'],
    ['replay', '4e1fab00-12', 'b'],
  ])('that can only be a command with a word too few or too many are refused: %j %j %j', async (...words) => {
    const said = await loopchart(words.filter((word) => word !== undefined))
    expect(said).toMatchObject({ code: 2, stderr: expect.stringMatching(/needs the ids? of/) })
  })

  it.each([
    [['runs'], { name: 'runs', limit: 20, journal: '.loopchart/runs.db' }],
    [['runs', '--status', 'waiting', '--limit', '3'], { name: 'runs', status: 'waiting', limit: 3 }],
    [['show', 'x', '--journal', 'a.db'], { name: 'show', runId: 'x', journal: 'a.db' }],
    [['diff', 'x', 'y'], { name: 'diff', runIds: ['x', 'y'] }],
    [['resume', 'x', '--migrate'], { name: 'resume', runId: 'x', migrate: true }],
    [['fork', 'x', '--at', '2', '--result', 'c=a=b'], { name: 'fork', at: 2, results: { c: 'a=b' } }],
    [['show me the weather'], { name: 'ask', question: 'show me the weather', journal: undefined }],
    [['show', 'me', 'the', 'weather'], { name: 'ask', question: 'show me the weather' }],
    [['runs', 'fast'], { name: 'ask', question: 'runs fast' }],
  ])('%j are understood', (argv, command) => {
    expect(parseCommand(argv)).toMatchObject(command)
  })

  it.each([
    [['fork', 'x'], 'fork needs the step in which it parts: loopchart fork ID --at 2.'],
    [['fork', 'x', '--at', '0'], '--at needs a whole number of at least 1, not "0".'],
    [['fork', 'x', '--at', '1', '--result', 'sunny'], '--result needs the id of a call and a text'],
    [['runs', '--status', 'gone'], '--status needs one of running, waiting, done, aborted, not "gone".'],
    [['show', 'x', '--at', '2'], '--at is for loopchart fork.'],
    [
      ['resume', 'x', '--steps', '9'],
      '--steps is not for resume: a run keeps the limits that it began with.',
    ],
    [['hello', '--migrate'], '--migrate is for loopchart resume.'],
  ])('%j are misuse: %s', (argv, message) => {
    expect(() => parseCommand(argv)).toThrow(message)
  })
})
