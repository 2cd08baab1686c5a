import { createHash } from 'node:crypto'
import { canonicalJson } from '../messages/canonicalJson.ts'
import type { ToolSpec } from '../messages/types.ts'
import { VERSION } from '../version.ts'
import type { JournalEntry } from './entry.ts'

/**
 * What an agent is made of, as far as it decides what a run asks for: so that a run which no longer fits can say what has
 * changed. Texts and schemas are told by a hash. Limits are not part of it: a run keeps those that it began with.
 */
export interface AgentFingerprint {
  /** The name of the agent, where it has one. */
  readonly name?: string
  /** The version of Loopchart. */
  readonly loopchart: string
  /** The id of the model. */
  readonly model: string
  /** Hash of the instructions; absent where there are none. */
  readonly instructions?: string
  /** Hash of what the model is told of each tool, by name. Empty where a function chooses the tools for each step. */
  readonly tools: Readonly<Record<string, string>>
}

export interface AgentParts {
  readonly name: string | undefined
  readonly model: { readonly id: string }
  readonly instructions: string | undefined
  readonly tools: readonly ToolSpec[]
}

export function fingerprintOf({ name, model, instructions, tools }: AgentParts): AgentFingerprint {
  return {
    ...(name === undefined ? {} : { name }),
    loopchart: VERSION,
    model: model.id,
    ...(instructions === undefined ? {} : { instructions: hashOf(instructions) }),
    // Entries instead of assignment: a tool named __proto__ is a tool like any other.
    tools: Object.fromEntries(tools.map((tool) => [tool.name, hashOf(canonicalJson(tool))])),
  }
}

const HASH_LENGTH = 16

/** The first 64 bits of SHA-256, in hexadecimal: enough to tell that something has changed. */
function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, HASH_LENGTH)
}

/** The agent that went on with a run last; `undefined` where its journal does not tell. */
export function recordedBy(entries: readonly JournalEntry[]): AgentFingerprint | undefined {
  return entries.findLast((entry) => entry.type === 'started' || entry.type === 'migrated')?.agent
}
