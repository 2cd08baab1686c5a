import { edgeKey } from '../../edgeKey.ts'
import type { ChartDrawing } from '../../protocol.ts'
import { lastMove } from '../run/lastMove.ts'
import type { RunView } from '../run/runView.ts'

const SVG = 'http://www.w3.org/2000/svg'

/** The drawing of the chart in the page, and what of it is lit. */
export class ChartPicture {
  readonly element: SVGSVGElement
  readonly #states = new Map<string, Element>()
  readonly #edges = new Map<string, DrawnEdge>()

  constructor({ svg, states, edges }: ChartDrawing) {
    const parsed = new DOMParser().parseFromString(svg, 'image/svg+xml').documentElement
    this.element = document.importNode(parsed, true) as unknown as SVGSVGElement
    this.element.classList.add('chart-svg')
    for (const [state, id] of Object.entries(states)) {
      const element = this.#find(id)
      if (element !== null) this.#states.set(state, element)
    }
    for (const [key, id] of Object.entries(edges)) {
      const element = this.#find(id)
      if (element !== null)
        this.#edges.set(key, { element, title: element.querySelector('title')?.textContent ?? '' })
    }
  }

  #find(id: string): Element | null {
    return this.element.querySelector(`#${CSS.escape(id)}`)
  }

  /** Lights the state that the run is in, the way it has just come, and counts what it has taken. */
  show({ state, trail, edgeCounts }: RunView): void {
    const move = lastMove(trail)
    const passed = new Set(move.flatMap(({ from, to }) => [from, ...(to === undefined ? [] : [to])]))
    for (const [name, element] of this.#states) {
      const isOuter = state?.startsWith(`${name}.`) === true
      element.classList.toggle('active', name === state)
      element.classList.toggle('active-outer', isOuter)
      element.classList.toggle('passed', passed.has(name) && name !== state && !isOuter)
    }
    const taken = new Set(move.map((edge) => edgeKey(edge)))
    const last = move.at(-1)
    for (const [key, edge] of this.#edges) {
      const count = edgeCounts.get(key) ?? 0
      edge.element.classList.toggle('taken', count > 0)
      edge.element.classList.toggle('just-taken', taken.has(key))
      edge.element.classList.toggle('last', last !== undefined && edgeKey(last) === key)
      showCount(edge, count)
    }
  }

  /** Brings a state into sight, where the picture is larger than its box. */
  scrollTo(state: string): void {
    const box = this.element.parentElement
    const element = this.#states.get(state)
    if (box === null || element === undefined) return
    const outer = box.getBoundingClientRect()
    const inner = element.getBoundingClientRect()
    box.scrollBy({
      left: inner.left + inner.width / 2 - (outer.left + outer.width / 2),
      top: inner.top + inner.height / 2 - (outer.top + outer.height / 2),
      behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'instant' : 'smooth',
    })
  }
}

interface DrawnEdge {
  readonly element: Element
  readonly title: string
  count?: { readonly element: SVGTSpanElement; shown: number }
}

/** Writes the count behind the label of an edge. */
function showCount(edge: DrawnEdge, count: number): void {
  if (edge.count === undefined) {
    const label = [...edge.element.querySelectorAll('text')].at(-1)
    if (count === 0 || label === undefined) return
    const element = document.createElementNS(SVG, 'tspan')
    element.setAttribute('class', 'edge-count')
    element.setAttribute('dx', '3')
    label.append(element)
    edge.count = { element, shown: 0 }
  }
  if (edge.count.shown === count) return
  edge.count.shown = count
  edge.count.element.textContent = count === 0 ? '' : `${count}×`
  const title = edge.element.querySelector('title')
  if (title !== null) title.textContent = count === 0 ? edge.title : `${edge.title} · ${count}×`
}
