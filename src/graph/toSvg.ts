import type { AnyStateMachine } from 'xstate'
import { LoopchartError, messageOf } from '../errors.ts'
import { xmlText } from './dotText.ts'
import { Drawing, type DrawnEdge, type DrawnState } from './drawing.ts'
import type { DotOptions } from './toDot.ts'

export interface SvgOptions extends DotOptions {
  /** What the picture shows, for people who do not see it. Default: the id of the machine. */
  readonly title?: string
}

/** A picture, and which of its elements stand for what. */
export interface SvgDrawing {
  readonly svg: string
  readonly states: readonly DrawnState[]
  readonly edges: readonly DrawnEdge[]
}

/**
 * Draws any XState machine as SVG: what `toDot` describes, laid out by Graphviz in WebAssembly (package `@viz-js/viz`).
 * Each state and edge is a `g` with an id made of its name (`state_thinking_calling`), classes (`node state transient`,
 * `edge always guarded`) and a `title` that says it in full. Colours are attributes, so that any style sheet overrides
 * them. There are no styles and no scripts in it, and nothing is loaded.
 *
 * @throws MisuseError `unknown_state` for a note beside a state that the machine does not have.
 * @throws LoopchartError `package_missing` where `@viz-js/viz` is not installed.
 * @throws LoopchartError `layout_failed` where Graphviz cannot lay it out.
 */
export async function toSvg(machine: AnyStateMachine, options: SvgOptions = {}): Promise<string> {
  return (await drawSvg(machine, options)).svg
}

/** The same with what its elements stand for. */
export async function drawSvg(machine: AnyStateMachine, options: SvgOptions = {}): Promise<SvgDrawing> {
  const { notes = {}, descriptions = true, title = machine.id } = options
  const drawing = new Drawing(machine, notes, descriptions)
  const { states, edges } = drawing
  const titles = new Map([...states, ...edges].map((drawn) => [drawn.id, drawn.title]))
  return { svg: withTitles(await laidOut(drawing.dot()), title, titles), states, edges }
}

/** What Graphviz writes, under a head of our own. */
function withTitles(graphviz: string, title: string, titles: ReadonlyMap<string, string>): string {
  const { viewBox = '', body = '' } =
    /<svg[^>]*viewBox="(?<viewBox>[^"]+)"[^>]*>(?<body>.*)$/s.exec(graphviz)?.groups ?? {}
  const [, , width = 0, height = 0] = viewBox.split(' ').map(Number)
  const name = xmlText(title)
  const head = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`,
    ` role="img" aria-label="${name}">`,
  ].join('')
  const named = body
    .replace(/<!--.*?-->\n?/gs, '')
    .replace(/(<g id="([^"]*)"[^>]*>\n)<title>[^<]*<\/title>\n/g, (_group, start: string, id: string) => {
      const text = titles.get(id)
      return text === undefined ? start : `${start}<title>${xmlText(text)}</title>\n`
    })
    .replace(/font-family="[^"]*"/g, `font-family="${fonts}"`)
  return `${head}\n<title>${name}</title>${named}`
}

/** Helvetica, by whose widths it was laid out, and those that take its place. */
const fonts = 'Helvetica, Arial, system-ui, sans-serif'

async function laidOut(dot: string): Promise<string> {
  const { instance } = await import('@viz-js/viz').catch((cause: unknown) => {
    throw new LoopchartError(
      'package_missing',
      'toSvg needs the package "@viz-js/viz": npm install @viz-js/viz.',
      {
        cause,
      },
    )
  })
  const viz = await instance()
  try {
    return viz.renderString(dot, { format: 'svg' })
  } catch (cause) {
    throw new LoopchartError('layout_failed', `Graphviz cannot lay this chart out: ${messageOf(cause)}`, {
      cause,
    })
  }
}
