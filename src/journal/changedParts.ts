import type { AgentFingerprint } from './fingerprint.ts'

/** What differs between two agents, in words: `loopchart`, `model`, `instructions`, `tools (get_weather, search)`. */
export function changedParts(
  before: AgentFingerprint | undefined,
  after: AgentFingerprint | undefined,
): readonly string[] {
  if (before === undefined || after === undefined) return []
  const parts = (['name', 'loopchart', 'model', 'instructions'] as const).filter(
    (part) => before[part] !== after[part],
  )
  const names = new Set([...Object.keys(before.tools), ...Object.keys(after.tools)])
  const tools = [...names].filter((name) => hashOf(before, name) !== hashOf(after, name))
  return [...parts, ...(tools.length === 0 ? [] : [`tools (${tools.sort().join(', ')})`])]
}

function hashOf({ tools }: AgentFingerprint, name: string): string | undefined {
  return Object.hasOwn(tools, name) ? tools[name] : undefined
}
