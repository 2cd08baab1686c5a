import { styleText } from 'node:util'
import type { Outcome } from '../machines/outcome.ts'
import type { AgentEvent } from '../runtime/events.ts'
import { printable, printableLine } from './printable.ts'

/** Characters of arguments and results that fit a line. */
const SHOWN = 100

/** Where the view writes. A stream that is a terminal gets colours, unless NO_COLOR is set. */
export interface Output extends NodeJS.WritableStream {
  readonly isTTY?: boolean
}

type Style = Parameters<typeof styleText>[0]

/** Shows a run step by step: what happens on `progress`, the answer on `answer`. */
export class TerminalView {
  readonly #progress: Output
  readonly #answer: Output
  /** Whether text of the model is being written, so that the next line has to begin anew. */
  #midLine = false
  #written = ''

  constructor(progress: Output, answer: Output) {
    this.#progress = progress
    this.#answer = answer
  }

  show(event: AgentEvent): void {
    switch (event.type) {
      case 'run.started':
        this.#state(event.state.split('.')[0] ?? event.state, undefined)
        break
      case 'transition':
        if (event.to !== undefined) this.#state(event.to, event.guard)
        break
      case 'model.started':
        this.#written = ''
        break
      case 'model.delta':
        this.#stream(event.text)
        break
      case 'model.reset':
        this.#written = ''
        this.#line(`  ${this.#style('yellow', '↶')} the text above is void`)
        break
      case 'history.repaired':
        for (const note of event.notes)
          this.#line(`  ${this.#style('yellow', '!')} history: ${printableLine(note)}`)
        break
      case 'model.finished': {
        const { toolCalls, usage } = event.reply
        const asked = toolCalls.length === 0 ? '' : ` · asks for ${count(toolCalls.length, 'tool call')}`
        this.#line(
          `  ${this.#style('green', '✓')} model  ${took(event.durationMs)}${asked} · ${tokens(usage.inputTokens, usage.outputTokens)}`,
        )
        break
      }
      case 'model.failed':
        this.#line(
          `  ${this.#style('red', '✗')} model  ${took(event.durationMs)} · ${printableLine(event.error.message)}`,
        )
        break
      case 'retry.scheduled':
        this.#line(`  ${this.#style('yellow', '↻')} trying again in ${Math.round(event.delayMs)} ms`)
        break
      case 'tool.started':
        this.#line(
          `  ${this.#style('cyan', '→')} ${printableLine(event.name)} ${this.#dim(shorten(event.arguments))}`,
        )
        break
      case 'tool.progress':
        this.#line(
          `  ${this.#style('cyan', '…')} ${printableLine(event.name)} ${this.#dim(shorten(JSON.stringify(event.progress)))}`,
        )
        break
      case 'tool.finished': {
        const mark = event.error === undefined ? this.#style('green', '✓') : this.#style('red', '✗')
        this.#line(
          `  ${mark} ${printableLine(event.name)}  ${took(event.durationMs)}  ${this.#dim(shorten(event.content))}`,
        )
        break
      }
      case 'limit.warned':
        this.#line(`  ${this.#style('yellow', '!')} warning: ${printableLine(event.warning.evidence)}`)
        break
      case 'limit.reached': {
        const { limit, max, evidence } = event.verdict
        const at = max === undefined ? '' : ` (${max})`
        this.#line(`  ${this.#style('yellow', '!')} limit ${limit}${at}: ${printableLine(evidence)}`)
        break
      }
      case 'run.finished':
        this.#finish(event.outcome)
        break
    }
  }

  /** A line of its own on `progress`. */
  note(text: string, style: Style = 'dim'): void {
    this.#line(this.#style(style, printable(text)))
  }

  #state(state: string, guard: string | undefined): void {
    const why = guard === undefined ? '' : this.#dim(`  [${guard}]`)
    this.#line(`${this.#style(['bold', 'blue'], '●')} ${this.#style('bold', state)}${why}`)
  }

  #finish(outcome: Outcome<unknown>): void {
    if (outcome.status === 'done') {
      // On a terminal the answer has been written already, piece by piece.
      if (this.#written !== outcome.output) {
        this.#line('')
        const answer = String(outcome.output)
        this.#answer.write(`${this.#answer.isTTY ? printable(answer) : answer}\n`)
      }
    }
    const { usage, steps, toolCalls, durationMs, status } = outcome
    const summary = [
      status,
      count(steps, 'step'),
      count(toolCalls.total, 'tool call'),
      tokens(usage.inputTokens, usage.outputTokens),
      took(durationMs),
    ]
    if (this.#answer.isTTY) this.#line('')
    this.note(summary.join(' · '))
  }

  #stream(text: string): void {
    if (!this.#answer.isTTY) return
    if (this.#written === '') this.#line('')
    this.#answer.write(printable(text))
    this.#written += text
    this.#midLine = !text.endsWith('\n')
  }

  #line(text: string): void {
    if (this.#midLine) this.#answer.write('\n')
    this.#midLine = false
    this.#progress.write(`${text}\n`)
  }

  #dim(text: string): string {
    return this.#style('dim', text)
  }

  #style(style: Style, text: string): string {
    return styleText(style, text, { stream: this.#progress as NodeJS.WriteStream })
  }
}

function shorten(text: string | undefined): string {
  const line = printableLine(text ?? '')
  return line.length <= SHOWN ? line : `${line.slice(0, SHOWN).toWellFormed()}…`
}

function took(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`
}

function tokens(input: number, output: number): string {
  return `${input} tokens in, ${output} out`
}

function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? '' : 's'}`
}
