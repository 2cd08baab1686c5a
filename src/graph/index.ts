export { agentDiagram } from './agentDiagram.ts'
export { type Edge, edgesOf } from './edges.ts'
export { type MermaidOptions, toMermaid } from './toMermaid.ts'
