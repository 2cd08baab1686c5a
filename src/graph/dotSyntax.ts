import { dotString, htmlLabelText, labelText } from './dotText.ts'

export type Attributes = Readonly<Record<string, string | number | boolean | Label>>

/** Text that is made for Graphviz already. */
type Label = HtmlLabel | PlainLabel

/** A label of the kind that Graphviz calls HTML-like. */
interface HtmlLabel {
  readonly html: string
}

interface PlainLabel {
  readonly escaped: string
}

/** One of the few fonts whose widths Graphviz knows by heart. */
export const FONT = 'Helvetica'

export function statement(subject: string, attributes: Attributes): string {
  return `${subject} [${assignments(attributes).join(', ')}]`
}

export function edgeStatement(tail: string, head: string, attributes: Attributes): string {
  return statement(`${dotString(tail)} -> ${dotString(head)}`, attributes)
}

export function nodeStatement(id: string, attributes: Attributes): string {
  return statement(dotString(id), { id, ...attributes })
}

/** Boxes of which each stands beside the next. */
export function sideBySide(...ids: readonly string[]): string {
  return `{ rank=same; ${ids.map(dotString).join('; ')} }`
}

export function subgraph(name: string, attributes: Attributes, inside: readonly string[]): readonly string[] {
  return [`subgraph ${dotString(name)} {`, ...indented([...assignments(attributes), ...inside]), '}']
}

/** A name, and smaller lines below it. */
export function nameLabel(name: string, below: readonly string[]): Label {
  if (below.length === 0) return linesLabel([name])
  return {
    html: `${htmlLabelText(name)}<br/><font face="${FONT}" point-size="10">${below.map(htmlLabelText).join('<br/>')}</font>`,
  }
}

/** Lines one below the other, each in the middle, so that they stay there in fonts that are not the one laid out. */
export function linesLabel(lines: readonly string[]): Label {
  return { escaped: lines.map(labelText).join('\\n') }
}

/** Lines that all begin at the same edge. */
export function noteLabel(lines: readonly string[]): Label {
  return { html: lines.map((line) => `${htmlLabelText(line)}<br align="left"/>`).join('') }
}

export function indented(lines: readonly string[]): readonly string[] {
  return lines.map((line) => `  ${line}`)
}

function assignments(attributes: Attributes): readonly string[] {
  return Object.entries(attributes).map(([name, value]) => `${name}=${valueText(value)}`)
}

function valueText(value: string | number | boolean | Label): string {
  if (typeof value === 'object') return 'html' in value ? `<${value.html}>` : `"${value.escaped}"`
  return typeof value === 'string' ? dotString(value) : String(value)
}
