import { parseArgs } from 'node:util'
import { MisuseError, messageOf } from '../errors.ts'

export const USAGE: string = `Usage:
  loopchart "question"     ask, and watch the loop work
  loopchart                open a chat (or read the question from standard input)
  loopchart graph          print the chart as Mermaid

Options:
  -m, --model ID       model to ask (default: LOOPCHART_MODEL, else gpt-4.1-mini)
      --base-url URL   server that speaks chat completions (default: OPENAI_BASE_URL, else OpenAI)
      --steps N        model calls that may ask for tools (default: 8)
      --json           print events as JSON lines on standard output, and nothing else there
      --verbose        show the stack trace of an error
  -h, --help           show this
  -v, --version        show the version

Environment:
  OPENAI_API_KEY, OPENAI_BASE_URL, LOOPCHART_MODEL, NO_COLOR
  Without a key and a server, a built-in stand-in answers offline. It is not a language model.

Exit codes: 0 answered, 1 aborted, 2 misuse, 130 interrupted`

/** What the command line asks for. */
export type Command =
  | { readonly name: 'help' | 'version' | 'graph' }
  | ({ readonly name: 'ask'; readonly question: string } & AskOptions)
  | ({ readonly name: 'chat' } & AskOptions)

export interface AskOptions {
  readonly model: string | undefined
  readonly baseURL: string | undefined
  readonly steps: number | undefined
  readonly json: boolean
  readonly verbose: boolean
}

/** @throws MisuseError `usage` for what cannot be understood, with what to write instead. */
export function parseCommand(argv: readonly string[]): Command {
  const { values, positionals } = parsed(argv)
  if (values.help) return { name: 'help' }
  if (values.version) return { name: 'version' }
  const [word, ...more] = positionals
  if (more.length === 0 && (word === 'graph' || word === 'help')) return { name: word }
  const options: AskOptions = {
    model: nonEmpty('--model', values.model),
    baseURL: url('--base-url', values['base-url']),
    steps: wholeNumber('--steps', values.steps),
    json: values.json,
    verbose: values.verbose,
  }
  if (positionals.length === 0) return { name: 'chat', ...options }
  const question = positionals.join(' ').trim()
  if (question === '') throw missingQuestion()
  return { name: 'ask', question, ...options }
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
      args: [...argv],
      allowPositionals: true,
      options: {
        model: { type: 'string', short: 'm' },
        'base-url': { type: 'string' },
        steps: { type: 'string' },
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
