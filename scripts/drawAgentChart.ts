import { drawSvg } from '../src/graph/toSvg.ts'
import { edgeKey } from '../src/inspect/edgeKey.ts'
import type { ChartDrawing } from '../src/inspect/protocol.ts'
import { createAgentMachine } from '../src/machines/index.ts'

/** The agent's chart as the inspector shows it: narrow, with the descriptions in the titles only. */
export async function drawAgentChart(): Promise<ChartDrawing> {
  const options = { title: 'The chart of the agent', descriptions: false }
  const { svg, states, edges } = await drawSvg(createAgentMachine(), options)
  return {
    svg,
    states: Object.fromEntries(states.map(({ name, id }) => [name, id])),
    edges: Object.fromEntries(edges.map(({ edge, id }) => [edgeKey(edge), id])),
  }
}
