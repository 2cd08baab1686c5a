import type { AgentEvent } from '../runtime/events.ts'
import { type Redact, redacted } from '../runtime/notify.ts'
import { plainJson } from './plainJson.ts'

/** What of an event may be seen. It is asked of a copy: whoever changes that in place must not change the run. */
export function redactedCopy(event: AgentEvent, redact: Redact): AgentEvent | undefined {
  return redacted(JSON.parse(plainJson(event)) as AgentEvent, redact)
}
