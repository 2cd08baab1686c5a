/** Fields in which services keep on an assistant message what only they can send back. */
export const KEPT_FIELDS = { responses: 'response_items', aiSdk: 'ai_sdk_parts' } as const
