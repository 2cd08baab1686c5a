import { agentChart } from './agentChart.ts'
import type { ChartDrawing } from './protocol.ts'

export { edgeKey } from './edgeKey.ts'

/** The agent's chart as a picture. It was drawn beforehand, so nothing is laid out at run time. */
export function chartDrawing(): ChartDrawing {
  return agentChart
}
