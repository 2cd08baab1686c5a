import { parseArgs } from 'node:util'
import { MisuseError, messageOf } from '../errors.ts'
import type { RunStatus } from '../journal/entry.ts'
import { runStatuses } from '../journal/runQuery.ts'

/** The file that keeps runs, where none is named. */
const DEFAULT_JOURNAL = '.loopchart/runs.db'

export const USAGE: string = `Usage:
  loopchart "question"     ask, and watch the loop work
  loopchart                open a chat (or read the question from standard input)
  loopchart graph          print the chart, with its limits

  loopchart runs           list the runs in the journal, latest first
  loopchart show ID        show what was said and done in a run
  loopchart replay ID      show every state, transition and guard of a run; nothing is called
  loopchart diff ID ID     show where two runs part
  loopchart resume ID      go on with a run that was interrupted
  loopchart fork ID --at K begin a run that shares what was before step K, and go on from there
  loopchart inspect [FILE] look at the runs in a journal in the browser, until Ctrl-C; runs nothing
  The beginning of an ID is enough.

Options:
  -m, --model ID       model to ask (default: LOOPCHART_MODEL, else gpt-4.1-mini)
      --base-url URL   server that speaks chat completions (default: OPENAI_BASE_URL, else OpenAI)
      --steps N        model calls that may ask for tools (default: 8; of a fork: as its run)
      --journal FILE   keep the runs in this file; for the commands on runs, the file that keeps them
                       (default: ${DEFAULT_JOURNAL})
      --status S       runs: only those that are running, waiting, done or aborted
      --limit N        runs: how many at most (default: 20)
      --format F       graph: mermaid (default), dot, or svg, which needs the package @viz-js/viz
      --at K           fork: the step in which it parts
      --reply TEXT     fork: what the model answers in that step
      --result ID=TEXT fork: another result of a tool call of that step; may be repeated
      --full           show: messages as long as they are
      --migrate        resume: go on even if the recorded steps are not those that would be taken now
      --inspect[=PORT] watch in the browser, until Ctrl-C, while the question is answered and after
      --port N         inspect: the port of the local server (default: any that is free)
      --open           open the browser, with --inspect or inspect
      --json           print JSON lines on standard output, and nothing else there
      --verbose        show the stack trace of an error, and with --json what the model was sent
  -h, --help           show this
  -v, --version        show the version

Environment:
  OPENAI_API_KEY, OPENAI_BASE_URL, LOOPCHART_MODEL, LOOPCHART_INSPECT, NO_COLOR
  Without a key and a server, a built-in stand-in answers offline. It is not a language model.

Exit codes: 0 answered, 1 aborted or waiting, 2 misuse, 130 interrupted`

/** What the command line asks for. */
export type Command =
  | { readonly name: 'help' | 'version' }
  | { readonly name: 'graph'; readonly format: GraphFormat }
  | ({ readonly name: 'ask'; readonly question: string } & AskOptions)
  | ({ readonly name: 'chat' } & AskOptions)
  | InspectCommand
  | JournalCommand

/** The languages in which the chart is printed. */
export type GraphFormat = (typeof GRAPH_FORMATS)[number]

export interface AskOptions {
  readonly model: string | undefined
  readonly baseURL: string | undefined
  readonly steps: number | undefined
  /** The file that keeps the runs; nothing is kept without one. */
  readonly journal: string | undefined
  /** How the runs can be watched in the browser; absent where nobody wants to. */
  readonly inspect: InspectorPlace | undefined
  readonly json: boolean
  readonly verbose: boolean
}

/** Where the inspector is, and whether it is opened. */
export interface InspectorPlace {
  /** 0: any that is free. */
  readonly port: number
  readonly open: boolean
}

/** Looks at the runs of a file in the browser. */
export interface InspectCommand {
  readonly name: 'inspect'
  readonly journal: string
  readonly inspect: InspectorPlace
}

/** Commands on runs that are kept. */
export type JournalCommand = KeptOptions &
  (
    | { readonly name: 'runs'; readonly status: RunStatus | undefined; readonly limit: number }
    | { readonly name: 'show'; readonly runId: string; readonly full: boolean }
    | { readonly name: 'replay'; readonly runId: string }
    | { readonly name: 'diff'; readonly runIds: readonly [string, string] }
    | { readonly name: 'resume'; readonly runId: string; readonly migrate: boolean }
    | {
        readonly name: 'fork'
        readonly runId: string
        readonly at: number
        readonly reply: string | undefined
        /** By call id. */
        readonly results: Readonly<Record<string, string>> | undefined
      }
  )

/** Those that change nothing. */
export type LookingCommand = Extract<JournalCommand, { name: 'runs' | 'show' | 'replay' | 'diff' }>

/** Those that go on with a run. */
export type GoingOnCommand = Extract<JournalCommand, { name: 'resume' | 'fork' }>

export interface KeptOptions extends AskOptions {
  readonly journal: string
}

/** @throws MisuseError `usage` for what cannot be understood, with what to write instead. */
export function parseCommand(argv: readonly string[]): Command {
  const { values, positionals } = parsed(argv)
  if (values.help) return { name: 'help' }
  if (values.version) return { name: 'version' }
  const [word, ...more] = positionals
  if (more.length === 0 && word === 'help') return { name: word }
  const graph = more.length === 0 && word === 'graph'
  const options: AskOptions = {
    model: nonEmpty('--model', values.model),
    baseURL: url('--base-url', values['base-url']),
    steps: wholeNumber('--steps', values.steps),
    journal: nonEmpty('--journal', values.journal),
    inspect: inspectorPlace(values),
    json: values.json,
    verbose: values.verbose,
  }
  const kept = { ...options, journal: options.journal ?? DEFAULT_JOURNAL }
  const inspecting = word === 'inspect' && more.length <= 1
  const isNoRun = graph || inspecting
  const command = isNoRun ? undefined : journalCommand(positionals, values, kept)
  const [stray] = optionsOfOthers(values, isNoRun ? word : command?.name)
  if (stray !== undefined) {
    throw new MisuseError('usage', `--${stray} is for loopchart ${OWNERS[stray]}. See loopchart --help.`)
  }
  if (graph) return { name: word, format: graphFormat(values.format) }
  if (inspecting) return inspectCommand(more[0], values, kept)
  if (options.inspect !== undefined && command !== undefined && !GOING_ON.has(command.name)) {
    throw new MisuseError('usage', `${command.name} runs nothing to watch: see loopchart inspect.`)
  }
  if (values.open && options.inspect === undefined) {
    throw new MisuseError('usage', '--open is for --inspect, or loopchart inspect. See loopchart --help.')
  }
  if (command !== undefined && command.name !== 'fork' && command.steps !== undefined) {
    throw new MisuseError(
      'usage',
      `--steps is not for ${command.name}: a run keeps the limits that it began with.`,
    )
  }
  if (command !== undefined) return command
  if (positionals.length === 0) return { name: 'chat', ...options }
  const question = positionals.join(' ').trim()
  if (question === '') throw missingQuestion()
  return { name: 'ask', question, ...options }
}

type Values = ReturnType<typeof parsed>['values']

/** Which command an option belongs to, where it is not for all of them. */
const OWNERS = {
  status: 'runs',
  limit: 'runs',
  format: 'graph',
  at: 'fork',
  reply: 'fork',
  result: 'fork',
  migrate: 'resume',
  full: 'show',
  port: 'inspect',
} as const

const GOING_ON: ReadonlySet<string> = new Set<GoingOnCommand['name']>(['resume', 'fork'])

type OwnedOption = keyof typeof OWNERS

function optionsOfOthers(values: Values, command: string | undefined): readonly OwnedOption[] {
  const owned = Object.keys(OWNERS) as OwnedOption[]
  return owned.filter((option) => values[option] !== undefined && OWNERS[option] !== command)
}

/**
 * A command has exactly its own number of words. More or fewer are a question, such as "show me the way", unless they can
 * only be meant as a command.
 */
function journalCommand(
  [name, ...ids]: readonly string[],
  values: Values,
  options: KeptOptions,
): JournalCommand | undefined {
  const [runId, other, ...more] = ids
  if (name === 'runs' && runId === undefined) {
    return {
      name,
      ...options,
      status: status(values.status),
      limit: wholeNumber('--limit', values.limit) ?? 20,
    }
  }
  if (isMeantAsCommand(name, ids)) {
    throw new MisuseError('usage', `${name} needs ${WORDS_OF[name]}: see loopchart --help.`)
  }
  if (runId === undefined || more.length > 0) return undefined
  if (name === 'diff' && other !== undefined) return { name, ...options, runIds: [runId, other] }
  if (other !== undefined) return undefined
  switch (name) {
    case 'show':
      return { name, ...options, runId, full: values.full === true }
    case 'replay':
      return { name, ...options, runId }
    case 'resume':
      return { name, ...options, runId, migrate: values.migrate === true }
    case 'fork': {
      const at = wholeNumber('--at', values.at)
      if (at === undefined) {
        throw new MisuseError('usage', 'fork needs the step in which it parts: loopchart fork ID --at 2.')
      }
      return { name, ...options, runId, at, reply: values.reply, results: results(values.result) }
    }
    default:
      return undefined
  }
}

function inspectCommand(
  file: string | undefined,
  { inspect, journal, port, open }: Values,
  options: KeptOptions,
): InspectCommand {
  if (inspect !== undefined) {
    throw new MisuseError('usage', 'inspect takes its port from --port, not from --inspect.')
  }
  if (file !== undefined && journal !== undefined) {
    throw new MisuseError('usage', 'inspect needs one file: name it, or give --journal, not both.')
  }
  const path = nonEmpty('inspect', file) ?? options.journal
  return { name: 'inspect', journal: path, inspect: { port: portNumber('--port', port), open } }
}

function inspectorPlace({ inspect, open }: Values): InspectorPlace | undefined {
  return inspect === undefined ? undefined : { port: portNumber('--inspect', inspect), open }
}

function portNumber(option: string, value = ''): number {
  if (value === '') return 0
  if (/^\d{1,5}$/.test(value) && Number(value) <= 65_535) return Number(value)
  throw new MisuseError('usage', `${option} needs a port from 0 to 65535, not "${value}".`)
}

function results(given: readonly string[] | undefined): Readonly<Record<string, string>> | undefined {
  if (given === undefined) return undefined
  return Object.fromEntries(
    given.map((assignment) => {
      const at = assignment.indexOf('=')
      if (at > 0) return [assignment.slice(0, at), assignment.slice(at + 1)]
      throw new MisuseError(
        'usage',
        `--result needs the id of a call and a text, such as --result call_1=sunny, not "${assignment}".`,
      )
    }),
  )
}

const GRAPH_FORMATS = ['mermaid', 'dot', 'svg'] as const

function graphFormat(value = 'mermaid'): GraphFormat {
  const known = GRAPH_FORMATS.find((name) => name === value)
  if (known !== undefined) return known
  throw new MisuseError('usage', `--format needs one of ${GRAPH_FORMATS.join(', ')}, not "${value}".`)
}

function status(value: string | undefined): RunStatus | undefined {
  const known = runStatuses.find((name) => name === value)
  if (value === undefined || known !== undefined) return known
  throw new MisuseError('usage', `--status needs one of ${runStatuses.join(', ')}, not "${value}".`)
}

export function missingQuestion(): MisuseError {
  return new MisuseError(
    'usage',
    'There is no question. Write one, for instance: loopchart "What is 15*8+32?"',
  )
}

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({
      args: withOptionalValue(argv, '--inspect'),
      allowPositionals: true,
      options: {
        model: { type: 'string', short: 'm' },
        'base-url': { type: 'string' },
        steps: { type: 'string' },
        journal: { type: 'string' },
        status: { type: 'string' },
        limit: { type: 'string' },
        format: { type: 'string' },
        at: { type: 'string' },
        reply: { type: 'string' },
        result: { type: 'string', multiple: true },
        migrate: { type: 'boolean' },
        full: { type: 'boolean' },
        inspect: { type: 'string' },
        port: { type: 'string' },
        open: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        verbose: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
        version: { type: 'boolean', short: 'v', default: false },
      },
    })
  } catch (error) {
    // Node explains in several sentences how to escape a dash; the first one says what was wrong.
    const [first = ''] = messageOf(error).split('. ')
    const hint = argv.some((word) => /^-\d/.test(word))
      ? 'Write -- before a question that begins with a dash. '
      : ''
    throw new MisuseError(
      'usage',
      `${first.replace(/\s+/g, ' ').replace(/\.$/, '')}. ${hint}See loopchart --help.`,
    )
  }
}

/** An option whose value may be left out: `--inspect` or `--inspect=4400`. */
function withOptionalValue(argv: readonly string[], option: string): string[] {
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length
  return argv.map((word, i) => (word === option && i < end ? `${option}=` : word))
}

function nonEmpty(option: string, value: string | undefined): string | undefined {
  if (value?.trim() === '') throw new MisuseError('usage', `${option} needs a value.`)
  return value
}

function url(option: string, value: string | undefined): string | undefined {
  if (value === undefined) return undefined
  if (/^https?:\/\//.test(value) && URL.canParse(value)) return value
  throw new MisuseError('usage', `${option} needs a URL such as http://localhost:11434/v1, not "${value}".`)
}

function wholeNumber(option: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined
  if (/^[1-9]\d{0,5}$/.test(value)) return Number(value)
  throw new MisuseError('usage', `${option} needs a whole number of at least 1, not "${value}".`)
}

const WORDS_OF = {
  show: 'the id of one run',
  replay: 'the id of one run',
  resume: 'the id of one run',
  fork: 'the id of one run',
  diff: 'the ids of two runs',
} as const

/** How the ids of runs look, or their beginnings. */
const ID = /^[0-9a-f]{4,}(-[0-9a-f]*)*$/i

/** Whether words of a wrong number can be nothing but a command: it stands alone, or what follows are ids. */
function isMeantAsCommand(name: string | undefined, ids: readonly string[]): name is keyof typeof WORDS_OF {
  if (name === undefined || !Object.hasOwn(WORDS_OF, name)) return false
  if (ids.length === (name === 'diff' ? 2 : 1)) return false
  return ids[0] === undefined || ID.test(ids[0])
}
