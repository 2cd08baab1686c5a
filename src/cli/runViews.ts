import type { styleText } from 'node:util'
import type { JournalEntry, RunSummary } from '../journal/entry.ts'
import type { EdgeName } from '../machines/edgeNames.ts'
import type { ModelTurn, ToolAnswer } from '../machines/effects.ts'
import type { Verdict } from '../machines/limits/judgement.ts'
import type { Message } from '../messages/types.ts'
import type { Replay, ReplayedEntry } from '../runtime/replay.ts'
import { printable, printableLine } from './printable.ts'

/** How a piece of text is made to stand out; the identity where there are no colours. */
export type Paint = (style: Parameters<typeof styleText>[0], text: string) => string

/** Characters of a question, and of a message, that fit a line. */
const QUESTION = 48
const SHOWN = 160

/** Before each line but the first of a message. */
const CONTINUED = '      '

const STATUS_STYLES = { running: 'cyan', waiting: 'yellow', done: 'green', aborted: 'red' } as const

/** A run of the list. */
export interface ListedRun extends RunSummary {
  /** Which it began with, or went on with last. */
  readonly question?: string
  readonly agent?: string
  readonly model?: string
  readonly forkOf?: { readonly runId: string; readonly at: number }
  /** The limit that stopped it. */
  readonly limit?: string
  /** Why its journal cannot be read. */
  readonly problem?: string
}

/** One line for each run, in columns. */
export function listLines(runs: readonly ListedRun[], paint: Paint): readonly string[] {
  if (runs.length === 0) return ['No runs.']
  const ids = runs.map(({ runId }) => printableLine(runId))
  const statuses = runs.map(statusOf)
  const idWidth = Math.max('ID'.length, ...ids.map(({ length }) => length))
  const statusWidth = Math.max('aborted'.length, ...statuses.map(({ length }) => length))
  const head = `${'ID'.padEnd(idWidth)}  ${'STATUS'.padEnd(statusWidth)}  STEPS  STARTED           QUESTION`
  const lines = runs.map((run, i) =>
    [
      (ids[i] ?? '').padEnd(idWidth),
      paint(STATUS_STYLES[run.status], (statuses[i] ?? '').padEnd(statusWidth)),
      String(run.steps).padStart(5),
      momentOf(run.startedAt),
      subjectOf(run),
    ].join('  '),
  )
  return [paint('dim', head), ...lines]
}

/** `done`, `done (limit steps)`, `aborted (cancelled)` */
function statusOf({ status, reason, limit }: ListedRun): string {
  const why = [
    ...(reason === undefined || reason === 'limit' ? [] : [reason]),
    ...(limit === undefined ? [] : [`limit ${limit}`]),
  ]
  return why.length === 0 ? status : `${status} (${printableLine(why.join(', '))})`
}

/** What a run is about. Of a fork, first where it comes from: its question is that of its run. */
function subjectOf({ question = '', forkOf, problem }: ListedRun): string {
  if (problem !== undefined) return shorten(`(${problem})`, QUESTION)
  const origin = forkOf === undefined ? '' : `fork of ${shortId(forkOf.runId)}, step ${forkOf.at}: `
  return `${origin}${shorten(question, QUESTION)}`
}

/** As much of an id as people type. */
function shortId(runId: string): string {
  return printableLine(runId).slice(0, 8)
}

/**
 * What was said and done in a run, step by step.
 *
 * @param full Whether messages are shown as long as they are.
 */
export function conversationLines(replay: Replay, paint: Paint, full = false): readonly string[] {
  const lines = [...headLines(replay, paint), '']
  let step = 0
  for (const { messages, verdict, entry, step: stepAfter } of replay.entries) {
    // An entry belongs to the step in which the run was before it.
    if (messages.some(({ role }) => role === 'assistant')) {
      lines.push('', paint('bold', isClosing(entry) ? 'closing answer' : `step ${step}`))
    }
    for (const message of messages) lines.push(...messageLines(message, paint, full))
    if (verdict !== undefined) lines.push(verdictLine(verdict, paint))
    step = stepAfter
  }
  const isCut = !full && replay.entries.some(({ messages }) => messages.some(isLong))
  const hint = isCut ? [paint('dim', 'Long messages are cut; --full shows all of them.')] : []
  return [...lines, '', ...endLines(replay, paint), ...hint]
}

/** Whether an entry tells what the closing call brought. */
function isClosing(entry: JournalEntry): boolean {
  return entry.type === 'event' && 'place' in entry.event && entry.event.place.startsWith('closing.')
}

function isLong(message: Message): boolean {
  const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : []
  const texts = [textOf(message), ...calls.map((call) => call.function.arguments)]
  return texts.some((text) => printableLine(text).length > SHOWN)
}

function verdictLine({ evidence, ...verdict }: Verdict, paint: Paint): string {
  return `  ${paint('yellow', '!')} ${limitText(verdict)}: ${printableLine(evidence)}`
}

/** `limit steps (8)` */
function limitText({ limit, max }: Pick<Verdict, 'limit' | 'max'>): string {
  return `limit ${printableLine(limit)}${max === undefined ? '' : ` (${max})`}`
}

/** Every entry of the journal, with the state that it led to and the edges that were taken. */
export function replayLines(replay: Replay, paint: Paint): readonly string[] {
  const width = String(replay.entries.length).length
  const lines = replay.entries.flatMap((replayed) => {
    const { position, step, state, transitions, verdict } = replayed
    const head = `${paint('dim', String(position).padStart(width))} ${paint('bold', whatHappened(replayed))}`
    const indent = ' '.repeat(width + 1)
    return [
      `${head}  ${paint('dim', `step ${step} ·`)} ${paint('blue', state)}`,
      ...transitions.map((edge) => `${indent}  ${edgeLine(edge, paint)}`),
      ...(verdict === undefined ? [] : [`${indent}${verdictLine(verdict, paint)}`]),
    ]
  })
  return [...headLines(replay, paint), '', ...lines, '', ...endLines(replay, paint)]
}

/** How a run began: what was asked, which agent it is one of, of which run it is a fork. */
export function beginningOf(
  entries: readonly JournalEntry[],
): Pick<ListedRun, 'question' | 'agent' | 'model' | 'forkOf'> {
  const [first] = entries
  if (first?.type !== 'started') return {}
  const { agent, forkOf } = first
  return {
    question: questionOf(entries),
    ...(agent?.name === undefined ? {} : { agent: agent.name }),
    ...(agent === undefined ? {} : { model: agent.model }),
    ...(forkOf === undefined ? {} : { forkOf }),
  }
}

/** The question that a run began with, or went on with last. */
function questionOf(entries: readonly JournalEntry[]): string {
  const [first] = entries
  if (first?.type !== 'started') return ''
  const { messages } = first.input
  if (typeof messages === 'string') return messages
  const asked = messages.findLast(({ role }) => role === 'user')
  return asked === undefined ? '' : textOf(asked)
}

function headLines({ runId, status, entries }: Replay, paint: Paint): readonly string[] {
  const [first] = entries
  const fact = (name: string, value: string): string => `${paint('dim', name.padEnd(8))} ${value}`
  const lines = [
    fact('run', paint('bold', printableLine(runId))),
    fact('status', paint(STATUS_STYLES[status], status)),
  ]
  if (first?.entry.type !== 'started') return lines
  const { at, agent, forkOf } = first.entry
  lines.push(fact('started', momentOf(at)))
  if (forkOf !== undefined) lines.push(fact('fork of', `${printableLine(forkOf.runId)}, step ${forkOf.at}`))
  if (agent !== undefined) lines.push(fact('model', printableLine(agent.model)))
  return lines
}

function endLines({ status, ending, entries }: Replay, paint: Paint): readonly string[] {
  if (ending === undefined) {
    return [`${paint(STATUS_STYLES[status], status)} in ${entries.at(-1)?.state ?? ''}`]
  }
  const { usage, steps, toolCalls } = ending
  const counts = [
    `${steps} ${steps === 1 ? 'step' : 'steps'}`,
    `${toolCalls.total} ${toolCalls.total === 1 ? 'tool call' : 'tool calls'}`,
    `${usage.inputTokens} tokens in, ${usage.outputTokens} out`,
  ].join(' · ')
  const stoppedBy = ending.status === 'waiting' ? undefined : ending.stoppedBy
  const stopped = stoppedBy === undefined ? '' : `, stopped by ${limitText(stoppedBy)}`
  const said =
    ending.status === 'aborted'
      ? `aborted (${ending.reason})${stopped}: ${printableLine(ending.message)}`
      : `${ending.status}${stopped}`
  return [`${paint(STATUS_STYLES[status], said)} ${paint('dim', `· ${counts}`)}`]
}

function messageLines(message: Message, paint: Paint, full: boolean): readonly string[] {
  const shown = (said: string): string =>
    full ? printable(said).trim().replaceAll('\n', `\n${CONTINUED}`) : shorten(said, SHOWN)
  const text = shown(textOf(message))
  switch (message.role) {
    case 'assistant':
      return [
        ...(text === '' ? [] : [`  ${paint('bold', 'model')}  ${text}`]),
        ...(message.tool_calls ?? []).map(
          ({ id, function: { name, arguments: args } }) =>
            `  ${paint('cyan', '→')} ${printableLine(name)} ${shown(args)} ${paint('dim', printableLine(id))}`,
        ),
      ]
    case 'tool':
      return [`  ${paint('cyan', '←')} ${text} ${paint('dim', printableLine(message.tool_call_id))}`]
    default:
      return [`  ${paint('bold', message.role)}  ${text}`]
  }
}

function edgeLine({ from, to, event, guard }: EdgeName, paint: Paint): string {
  const way = to === undefined ? from : `${from} → ${to}`
  return `${way}${guard === undefined ? '' : ` ${paint('green', `[${guard}]`)}`} ${paint('dim', `on ${event}`)}`
}

/** An entry in words. */
function whatHappened({ entry }: ReplayedEntry): string {
  switch (entry.type) {
    case 'started':
      return `started: ${shorten(questionOf([entry]), QUESTION)}`
    case 'migrated':
      return 'migrated: another agent goes on'
    case 'resumed':
      return `resumed by ${printableLine(entry.by)}`
    case 'intent':
      return `${entry.place} is about to run`
    case 'waiting':
      return 'waiting for a person'
    case 'ended':
      return `ended: ${entry.status}${entry.reason === undefined ? '' : ` (${entry.reason})`}`
    case 'event':
      return eventText(entry.event)
  }
}

function eventText(event: Extract<JournalEntry, { type: 'event' }>['event']): string {
  switch (event.type) {
    case 'settled':
      return `${event.place} ${settlement(event.place, event.output)}`
    case 'failed':
      return `${event.place} failed: ${shorten(event.error.message, SHOWN)}`
    case 'cancelled':
      return `cancelled${event.message === undefined ? '' : `: ${shorten(event.message, SHOWN)}`}`
    case 'sent':
      return `message sent: ${shorten(textOf(event.message), QUESTION)}`
    case 'decided': {
      const { callId, approved, reason } = event.decision
      return `${printableLine(callId)} ${approved ? 'approved' : 'denied'}${reason === undefined ? '' : `: ${shorten(reason, SHOWN)}`}`
    }
  }
}

function settlement(place: string, output: unknown): string {
  const [kind] = place.split('.')
  if (kind === 'model' || kind === 'closing') {
    const { text, toolCalls } = (output as ModelTurn).reply
    const calls = toolCalls.map(({ function: { name } }) => printableLine(name)).join(', ')
    return calls === '' ? `answered: ${shorten(text, QUESTION)}` : `asked for ${calls}`
  }
  if (kind === 'tool') {
    const { content, error } = output as ToolAnswer
    return `${error === undefined ? 'answered' : `failed (${error})`}: ${shorten(content, QUESTION)}`
  }
  return 'done'
}

function textOf({ content }: Message): string {
  if (typeof content === 'string') return content
  return (content ?? []).map((part) => (part.type === 'text' ? part.text : `(${part.type})`)).join(' ')
}

/** In the time zone of the reader: `2026-11-30 22:10`. */
function momentOf(at: number): string {
  const date = new Date(at)
  const pad = (n: number): string => String(n).padStart(2, '0')
  return (
    `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ` +
    `${pad(date.getHours())}:${pad(date.getMinutes())}`
  )
}

function shorten(text: string, length: number): string {
  const line = printableLine(text)
  return line.length <= length ? line : `${line.slice(0, length - 1).toWellFormed()}…`
}
