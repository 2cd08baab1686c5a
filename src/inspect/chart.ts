import { edgesOf } from '../graph/edges.ts'
import { createAgentMachine } from '../machines/agentMachine.ts'
import type { EdgeName } from '../machines/edgeNames.ts'
import type { ChartDrawing } from './protocol.ts'

/** Names an edge of the chart. */
export function edgeKey({ from, event, guard = '', to = '' }: EdgeName): string {
  return [from, event, guard, to].join('|')
}

/** The agent's chart, without a layout. */
export function chartDrawing(): ChartDrawing {
  const edges = edgesOf(createAgentMachine())
  return {
    svg: '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1" role="img" aria-label="chart"></svg>',
    states: Object.fromEntries(edges.map(({ from }, i) => [from, `state${i}`])),
    edges: Object.fromEntries(edges.map((edge, i) => [edgeKey(edge), `edge${i}`])),
  }
}
