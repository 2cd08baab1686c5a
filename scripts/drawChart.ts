// Draws the agent's chart for the inspector, which is to need no layout library at run time.
//
//   npm run draw
import { writeFile } from 'node:fs/promises'
import { drawAgentChart } from './drawAgentChart.ts'

const { svg, states, edges } = await drawAgentChart()
const lines = svg.split('\n').map((line) => `    ${JSON.stringify(line)},\n`)
const module = `import type { ChartDrawing } from './protocol.ts'

/** Made by \`npm run draw\`. A test fails where it is not what the machine would be drawn as. */
export const agentChart: ChartDrawing = {
  svg: [
${lines.join('')}  ].join('\\n'),
  states: ${JSON.stringify(states)},
  edges: ${JSON.stringify(edges)},
}
`
await writeFile(new URL('../src/inspect/agentChart.ts', import.meta.url), module)
