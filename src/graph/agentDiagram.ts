import { createAgentMachine } from '../machines/agentMachine.ts'
import type { CallLadder } from '../machines/limits/ladder.ts'
import { defaultSettings, type RunSettings } from '../machines/settings.ts'
import { toMermaid } from './toMermaid.ts'

/**
 * Draws the agent loop as a Mermaid `stateDiagram-v2`, with a note of its limits where they are judged.
 *
 * @param settings Whose thresholds the note shows. Default: those that hold where nothing else is said.
 */
export function agentDiagram(settings: RunSettings = defaultSettings): string {
  const lines = Object.entries(settings.limits).map(([name, ladder]) => limitLine(name, ladder))
  return toMermaid(createAgentMachine(settings), { notes: { observing: ['Limits', ...lines] } })
}

/** From the mildest to the strictest. */
const rungNames = ['warn', 'refuse', 'conclude', 'abort'] as const

/** `repeats 2 → warn, 3 → conclude` */
function limitLine(name: string, ladder: CallLadder): string {
  const rungs = rungNames.flatMap((rung) => (ladder[rung] === undefined ? [] : [`${ladder[rung]} → ${rung}`]))
  return `${name} ${rungs.length === 0 ? 'off' : rungs.join(', ')}`
}
