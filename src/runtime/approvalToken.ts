import { createHash } from 'node:crypto'
import { canonicalText } from '../messages/canonicalJson.ts'
import type { ToolCall } from '../messages/types.ts'

/** Binds an approval to a call: its id, its tool and its arguments, whatever the order of their keys. */
export function approvalToken({ id, function: { name, arguments: args } }: ToolCall): string {
  return createHash('sha256')
    .update(JSON.stringify([id, name, canonicalText(args)]))
    .digest('base64url')
}
