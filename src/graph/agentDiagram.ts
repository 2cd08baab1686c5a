import { createAgentMachine } from '../machines/agentMachine.ts'
import { type AgentContext, startingContext } from '../machines/context.ts'
import { judge, type Reaction } from '../machines/limits.ts'
import { defaultSettings, type Limits, type RunSettings } from '../machines/settings.ts'
import { toMermaid } from './toMermaid.ts'

/**
 * Draws the agent loop as a Mermaid `stateDiagram-v2`, with a note of its limits where they are judged.
 *
 * @param settings Whose thresholds the note shows. Default: those that hold where nothing else is said.
 */
export function agentDiagram(settings: RunSettings = defaultSettings): string {
  const lines = Object.entries(settings.limits).map(([name, threshold]) => limitLine(name, threshold))
  return toMermaid(createAgentMachine(settings), { notes: { observing: ['Limits', ...lines] } })
}

/** `steps 8 → conclude` */
function limitLine(name: string, threshold: number): string {
  if (!Number.isFinite(threshold)) return `${name} off`
  const reaction = reactionOf(name)
  return reaction === undefined ? `${name} ${threshold}` : `${name} ${threshold} → ${reaction}`
}

/**
 * What a limit asks for when it fires. The judge of the chart is asked about a run that has exceeded whatever can be
 * counted, with all other limits off, so the answer cannot differ from what the chart does.
 */
function reactionOf(name: string): Reaction | undefined {
  const limits = Object.fromEntries(
    Object.keys(defaultSettings.limits).map((other) => [
      other,
      other === name ? 1 : Number.POSITIVE_INFINITY,
    ]),
  ) as Record<keyof Limits, number>
  const start = startingContext('', { ...defaultSettings, limits })
  const excess = Object.entries(start).map(([fact, value]) =>
    typeof value === 'number' ? [fact, Number.MAX_SAFE_INTEGER] : [fact, value],
  )
  return judge(Object.fromEntries(excess) as AgentContext)?.reaction
}
