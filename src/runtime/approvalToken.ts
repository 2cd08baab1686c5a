import { createHash } from 'node:crypto'
import { canonicalText } from '../messages/canonicalJson.ts'
import type { ToolCall } from '../messages/types.ts'

/**
 * Binds an approval to a call: its id, its tool and its arguments, whatever the order of their keys.
 *
 * @param begun For a call in doubt, how often it has begun: each doubt is decided by itself.
 */
export function approvalToken({ id, function: { name, arguments: args } }: ToolCall, begun?: number): string {
  const facts = [id, name, canonicalText(args)]
  return createHash('sha256')
    .update(JSON.stringify(begun === undefined ? facts : [...facts, begun]))
    .digest('base64url')
}
