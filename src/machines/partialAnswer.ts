import type { AgentContext } from './context.ts'
import { isClosingAnswer } from './guards.ts'
import type { PartialResult } from './texts/limitTexts.ts'

/** How many results stand in for an answer, and how much of each, in characters. */
const SHOWN_RESULTS = 5
const SHOWN_CHARACTERS = 500

/** What there is of an answer when a run is aborted. A run that a limit ended always has something to show. */
export function partialOf(context: AgentContext): string | undefined {
  const said = lastText(context)
  if (context.verdict === undefined) return said
  const results = lastResults(context)
  // Words that came after the last results are the better answer.
  return said !== undefined && results.length === 0 ? said : context.policy.texts.noAnswer({ said, results })
}

/** The newest text of the model in this turn. */
function lastText({ reply, transcript, turnStart }: AgentContext): string | undefined {
  if (reply !== undefined && reply.text !== '') return reply.text
  for (let i = transcript.length - 1; i >= turnStart; i--) {
    const message = transcript.at(i)
    if (message?.role === 'assistant' && message.content) return message.content
  }
  return undefined
}

/** The results with which this turn ends, be there a closing answer behind them that cannot be used. */
function lastResults({ reply, transcript, turnStart }: AgentContext): readonly PartialResult[] {
  const isUnusable = reply !== undefined && reply.text !== '' && !isClosingAnswer(reply)
  const names = new Map<string, string>()
  const contents: { readonly id: string; readonly content: string }[] = []
  for (let i = transcript.length - 1; i >= turnStart; i--) {
    const message = transcript.at(i)
    if (message?.role === 'tool') contents.unshift({ id: message.tool_call_id, content: message.content })
    else if (message?.role === 'assistant') {
      if (message.tool_calls === undefined && isUnusable && contents.length === 0) continue
      for (const { id, function: called } of message.tool_calls ?? []) names.set(id, called.name)
      break
    } else if (contents.length > 0) break
  }
  return contents
    .slice(-SHOWN_RESULTS)
    .map(({ id, content }) => ({ tool: names.get(id) ?? 'unknown', content: shortened(content) }))
}

function shortened(content: string): string {
  if (content.length <= SHOWN_CHARACTERS) return content
  return `${content.slice(0, SHOWN_CHARACTERS).replace(/[\ud800-\udbff]$/, '')}…`
}
