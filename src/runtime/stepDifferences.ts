import type { EdgeName } from '../machines/edgeNames.ts'
import { canonicalJson, canonicalText } from '../messages/canonicalJson.ts'
import type { AssistantMessage, ToolCall } from '../messages/types.ts'
import type { DifferenceDetail } from './diff.ts'
import type { StepOfRun } from './stepsOfRun.ts'

/** Everything in which two runs differ in a step, the most telling first. */
export function stepDifferences(a: StepOfRun, b: StepOfRun, step: number): readonly DifferenceDetail[] {
  const said = messageDifferences(a, b, step)
  // Other calls have other results: no news.
  const isOtherCall = said.some(({ what }) => what === 'calls')
  const telling = isOtherCall ? said.filter(({ what }) => what === 'calls' || what === 'text') : said
  const causes = telling.filter(({ what }) => what !== 'message')
  const consequences = telling.filter(({ what }) => what === 'message')
  return [...causes, ...limitDifference(a, b), ...consequences, ...transitionDifference(a, b)]
}

/** Two values in words: `the model said x in the first, y in the second`. */
export function detail(
  what: DifferenceDetail['what'],
  begin: string,
  [a, b]: readonly [unknown, unknown],
  say: (value: unknown) => string = shown,
): DifferenceDetail {
  return { what, text: `${begin} ${say(a)} in the first, ${say(b)} in the second`, a, b }
}

function messageDifferences(a: StepOfRun, b: StepOfRun, step: number): readonly DifferenceDetail[] {
  const names = new Map<string, string>()
  return pairs(a, b, ({ messages }) => messages).flatMap(([ofA, ofB]) => {
    if (ofA?.role === 'assistant' && ofB?.role === 'assistant') return replyDifferences(ofA, ofB, names)
    const contents = [ofA?.content, ofB?.content] as const
    if (ofA?.role === ofB?.role && canonicalJson(contents[0]) === canonicalJson(contents[1])) return []
    if (ofA?.role === 'tool' && ofB?.role === 'tool') {
      return [detail('result', `${names.get(ofA.tool_call_id) ?? 'a tool'} answered`, contents)]
    }
    return [
      step === 0 ? detail('input', 'it began with', [ofA, ofB]) : detail('message', 'there is', [ofA, ofB]),
    ]
  })
}

/** @param names Takes note of the tools that were called, by the ids of the calls. */
function replyDifferences(
  a: AssistantMessage,
  b: AssistantMessage,
  names: Map<string, string>,
): readonly DifferenceDetail[] {
  const text = a.content === b.content ? [] : [detail('text', 'the model said', [a.content, b.content])]
  const [callsA, callsB] = [a.tool_calls ?? [], b.tool_calls ?? []]
  for (const call of callsA) names.set(call.id, nameOf(call))
  if (callsA.map(nameOf).join() !== callsB.map(nameOf).join()) {
    return [detail('calls', 'the model asked for', [callsA, callsB], namesOf), ...text]
  }
  const asked = callsA.flatMap((call, i) => {
    const args = [call.function.arguments, callsB[i]?.function.arguments ?? ''] as const
    if (canonicalText(args[0]) === canonicalText(args[1])) return []
    return [detail('arguments', `the model called ${nameOf(call)} with`, args)]
  })
  return [...asked, ...text]
}

function limitDifference(a: StepOfRun, b: StepOfRun): readonly DifferenceDetail[] {
  if (a.limit === b.limit || a.isOpen || b.isOpen) return []
  return [detail('limit', 'the limit that fired is', [a.limit ?? 'none', b.limit ?? 'none'])]
}

/** The first edge in which the ways part; the ways as a whole are in the detail. */
function transitionDifference(a: StepOfRun, b: StepOfRun): readonly DifferenceDetail[] {
  const parting = pairs(a, b, ({ transitions }) => transitions).find(
    ([ofA, ofB]) => edgeText(ofA) !== edgeText(ofB),
  )
  if (parting === undefined) return []
  const [ofA, ofB] = parting
  const { text } = detail('transitions', 'the chart went', [edgeText(ofA), edgeText(ofB)])
  return [{ what: 'transitions', text, a: a.transitions, b: b.transitions }]
}

/** What happened in both, side by side. Of a step that goes on nobody knows what will follow. */
function pairs<Item>(
  a: StepOfRun,
  b: StepOfRun,
  itemsOf: (step: StepOfRun) => readonly Item[],
): readonly (readonly [Item | undefined, Item | undefined])[] {
  const [itemsA, itemsB] = [itemsOf(a), itemsOf(b)]
  const length = Math.min(
    Math.max(itemsA.length, itemsB.length),
    a.isOpen ? itemsA.length : Number.POSITIVE_INFINITY,
    b.isOpen ? itemsB.length : Number.POSITIVE_INFINITY,
  )
  return Array.from({ length }, (_, i) => [itemsA[i], itemsB[i]] as const)
}

/** Characters of a value that fit a line. */
const SHOWN = 200

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : isNothing(value) ? 'nothing' : JSON.stringify(value)
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN).toWellFormed()}…`
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null
}

function namesOf(calls: unknown): string {
  return (calls as readonly ToolCall[]).map(nameOf).join(', ') || 'no tool'
}

function nameOf({ function: { name } }: ToolCall): string {
  return name
}

function edgeText(edge: EdgeName | undefined): string {
  if (edge === undefined) return 'no further'
  const { from, to = from, event, guard } = edge
  return `${from} → ${to}${guard === undefined ? '' : ` [${guard}]`} on ${event}`
}
