import type { AgentEvent } from '../runtime/events.ts'

type Facts = Readonly<Record<string, unknown>>

/** What may be logged of an event whatever is said in the run: names, numbers, codes. */
export function factsOf(event: AgentEvent): Facts {
  switch (event.type) {
    case 'run.started':
      return { state: event.state }
    case 'transition': {
      const { from, to, event: cause, guard, verdict } = event
      return { from, to, cause, guard, limit: verdict?.limit }
    }
    case 'model.started':
      return { place: event.place, closing: event.closing }
    case 'model.finished': {
      const { place, closing, durationMs, reply } = event
      const { finish, usage, model, toolCalls } = reply
      const tools = toolCalls.map(({ function: called }) => called.name)
      return { place, closing, durationMs, finish, usage, model, tools }
    }
    case 'model.failed': {
      const { place, closing, durationMs, error } = event
      return { place, closing, durationMs, error }
    }
    case 'retry.scheduled':
      return { place: event.place, delayMs: event.delayMs, failures: event.failures }
    case 'tool.started':
    case 'tool.progress':
      return { place: event.place, callId: event.callId, tool: event.name }
    case 'tool.retried': {
      const { place, callId, name: tool, failures, delayMs } = event
      return { place, callId, tool, failures, delayMs }
    }
    case 'tool.finished': {
      const { place, callId, name: tool, durationMs, error } = event
      return { place, callId, tool, durationMs, error }
    }
    case 'compaction.started':
      return { place: event.place }
    case 'compaction.finished': {
      const { place, tokensBefore, tokensAfter, durationMs } = event
      return { place, tokensBefore, tokensAfter, durationMs }
    }
    case 'usage.updated':
      return { usage: event.usage, cost: event.cost }
    case 'limit.warned':
      return { limit: event.warning.limit, max: event.warning.max, reaction: event.warning.reaction }
    case 'limit.reached':
      return { limit: event.verdict.limit, max: event.verdict.max, reaction: event.verdict.reaction }
    case 'run.finished':
      return endFacts(event.outcome)
    default:
      return {}
  }
}

/** What was said: by people, by the model, by tools. */
export function contentOf(event: AgentEvent): Facts {
  switch (event.type) {
    case 'model.delta':
      return { text: event.text }
    case 'model.finished': {
      const { text, toolCalls: calls, refusal, problem } = event.reply
      return { text, calls, refusal, problem }
    }
    case 'tool.started':
      return { arguments: event.arguments }
    case 'tool.progress':
      return { progress: event.progress }
    case 'tool.retried':
      return { message: event.message }
    case 'tool.finished':
      return { content: event.content }
    case 'message.received':
      return { message: event.message.content }
    case 'compaction.finished':
      return { problem: event.problem, exhausted: event.exhausted }
    case 'history.repaired':
      return { notes: event.notes }
    case 'limit.warned':
      return { evidence: event.warning.evidence, text: event.warning.text }
    case 'limit.reached':
      return { evidence: event.verdict.evidence }
    case 'run.finished': {
      const { outcome } = event
      if (outcome.status === 'done') return { output: outcome.output }
      return outcome.status === 'aborted' ? { partial: outcome.partial } : { approvals: outcome.approvals }
    }
    default:
      return {}
  }
}

function endFacts(outcome: Extract<AgentEvent, { type: 'run.finished' }>['outcome']): Facts {
  const { status, steps, toolCalls, usage, cost, durationMs } = outcome
  const facts = { status, steps, toolCalls, usage, cost, durationMs }
  if (outcome.status === 'waiting') return { ...facts, waitsFor: outcome.approvals.map(({ name }) => name) }
  const limit = outcome.stoppedBy?.limit
  if (outcome.status === 'done') return { ...facts, limit }
  return { ...facts, limit, reason: outcome.reason, message: outcome.message, error: outcome.error }
}
