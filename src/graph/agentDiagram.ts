import { type AgentMachine, createAgentMachine } from '../machines/agentMachine.ts'
import type { CallLadder } from '../machines/limits/ladder.ts'
import { defaultSettings, type RunSettings } from '../machines/settings.ts'
import type { Notes } from './notes.ts'
import { toDot } from './toDot.ts'
import { toMermaid } from './toMermaid.ts'
import { toSvg } from './toSvg.ts'

/**
 * Draws the agent loop as a Mermaid `stateDiagram-v2`, with a note of its limits where they are judged.
 *
 * @param settings Whose thresholds the note shows. Default: those that hold where nothing else is said.
 */
export function agentDiagram(settings: RunSettings = defaultSettings): string {
  return toMermaid(...chartAndNotes(settings))
}

/** The same in Graphviz's language. */
export function agentDot(settings: RunSettings = defaultSettings): string {
  return toDot(...chartAndNotes(settings))
}

/**
 * The same as SVG.
 *
 * @throws LoopchartError `package_missing` where `@viz-js/viz` is not installed.
 */
export function agentSvg(settings: RunSettings = defaultSettings): Promise<string> {
  const [machine, notes] = chartAndNotes(settings)
  return toSvg(machine, { ...notes, title: 'The agent loop' })
}

function chartAndNotes(settings: RunSettings): [AgentMachine, { readonly notes: Notes }] {
  const lines = Object.entries(settings.limits).map(([name, ladder]) => limitLine(name, ladder))
  return [createAgentMachine(settings), { notes: { observing: ['Limits', ...lines] } }]
}

/** From the mildest to the strictest. */
const rungNames = ['warn', 'refuse', 'conclude', 'abort'] as const

/** `repeats 2 → warn, 3 → conclude` */
function limitLine(name: string, ladder: CallLadder): string {
  const rungs = rungNames.flatMap((rung) => (ladder[rung] === undefined ? [] : [`${ladder[rung]} → ${rung}`]))
  return `${name} ${rungs.length === 0 ? 'off' : rungs.join(', ')}`
}
