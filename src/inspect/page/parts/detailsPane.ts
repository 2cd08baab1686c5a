import { h, type JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { InspectedEvent } from '../../protocol.ts'
import { type Call, type ModelCall, stepOf, type ToolCall } from '../run/call.ts'
import type { RunView } from '../run/runView.ts'
import type { Inspector, OpenRun } from '../wire/inspector.ts'
import { count, duration } from '../words/format.ts'
import { indented, printable, printableLine } from '../words/printable.ts'
import type { Texts } from '../words/texts.ts'
import { usageText } from '../words/usageText.ts'
import { useTexts } from './context.ts'
import { Disclosure } from './disclosure.ts'
import { EventDetails } from './eventDetails.ts'
import { ForkDialog, type ForkSubject } from './forkDialog.ts'
import { useEndInSight, useWholeRequest } from './hooks.ts'
import { OutcomeBlock } from './outcomeBlock.ts'
import { TextBlock } from './textBlock.ts'

interface DetailsPaneProps {
  readonly inspector: Inspector
  readonly run: OpenRun
  readonly view: RunView
  readonly at: number | undefined
}

/** What the moment that is looked at is about: a call that has just ended, or what is under way, or how the run ended. */
export function DetailsPane({ inspector, run, view, at }: DetailsPaneProps): JSX.Element {
  const texts = useTexts()
  const [subject, setSubject] = useState<ForkSubject>()
  const inspected = at === undefined ? undefined : run.history.at(at)
  const call = callAt(view, inspected)
  const { about } = inspector
  const { box, onScroll } = useEndInSight(call?.status === 'running')
  const canFork = about?.canAct === true && about.isKept
  return h(
    'section',
    {
      ref: box,
      class: 'details',
      'aria-label': texts.details.heading,
      tabIndex: 0,
      onScroll,
    },
    view.outcome !== undefined && call === undefined && h(OutcomeBlock, { outcome: view.outcome }),
    call !== undefined &&
      h(CallDetails, { key: call.index, runId: run.runId, call, onFork: canFork ? setSubject : undefined }),
    inspected !== undefined &&
      call === undefined &&
      h(EventDetails, { key: inspected.index, event: inspected.event }),
    inspected !== undefined &&
      h(Disclosure, {
        summary: [texts.details.raw, ' ', h('code', { key: 'type' }, inspected.event.type)],
        content: () => h(TextBlock, { text: JSON.stringify(inspected, null, 2), class: 'json' }),
      }),
    subject !== undefined &&
      h(ForkDialog, { runId: run.runId, subject, onClose: () => setSubject(undefined) }),
  )
}

/** The call that ended or began with an event, or that it tells of; at the newest one, what is under way or was last. */
function callAt({ calls, outcome }: RunView, inspected: InspectedEvent | undefined): Call | undefined {
  if (inspected === undefined) {
    return outcome === undefined
      ? (calls.findLast(({ status }) => status === 'running') ?? calls.at(-1))
      : undefined
  }
  const { event } = inspected
  return 'place' in event ? calls.findLast(({ place }) => place === event.place) : undefined
}

function CallDetails({
  runId,
  call,
  onFork,
}: {
  runId: string
  call: Call
  onFork: ((subject: ForkSubject) => void) | undefined
}): JSX.Element {
  const texts = useTexts()
  const { timeline } = texts
  const titles = {
    model: 'closing' in call && call.closing ? timeline.closing : timeline.model,
    tool: call.kind === 'tool' ? call.name : '',
    pause: timeline.backOff,
    compaction: timeline.compaction,
  }
  const step = stepOf(call.place)
  const subject = step === undefined ? undefined : forkSubject(call, step)
  return h(
    'article',
    { class: `call call-${call.kind}` },
    h(
      'h3',
      null,
      printableLine(titles[call.kind], 80),
      h('code', { class: 'place' }, call.place),
      h('span', { class: 'gap' }),
      onFork !== undefined &&
        subject !== undefined &&
        h('button', { type: 'button', onClick: () => onFork(subject) }, texts.run.fork),
    ),
    call.kind === 'model' && h(ModelDetails, { runId, call }),
    call.kind === 'tool' && h(ToolDetails, { call }),
    call.kind === 'pause' &&
      h(Facts, {
        facts: [
          [texts.details.delay, duration(call.delayMs)],
          [texts.details.failures, String(call.failures)],
        ],
      }),
    call.kind === 'compaction' &&
      h(Facts, {
        facts: [
          [texts.details.before, call.tokensBefore === undefined ? '–' : count(call.tokensBefore)],
          [texts.details.after, call.tokensAfter === undefined ? '–' : count(call.tokensAfter)],
          ...durationFact(call, texts),
          ...optionalFact(texts.details.problem, call.problem ?? call.exhausted),
        ],
      }),
  )
}

function forkSubject(call: Call, step: number): ForkSubject | undefined {
  if (call.kind === 'model') return { step, reply: call.reply?.text ?? call.text }
  if (call.kind !== 'tool' || call.content === undefined) return undefined
  return { step, result: { callId: call.callId, name: call.name, content: call.content } }
}

function ModelDetails({ runId, call }: { runId: string; call: ModelCall }): JSX.Element {
  const texts = useTexts()
  const { details } = texts
  const { reply, request, error, text, isVoid, status } = call
  const facts: Fact[] = [
    ...durationFact(call, texts),
    ...optionalFact(details.finish, reply?.finish),
    ...optionalFact(details.usage, reply === undefined ? undefined : usageText(reply.usage, texts)),
    ...optionalFact(details.model, reply?.model),
    ...optionalFact(details.refusal, reply?.refusal),
    ...optionalFact(details.problem, reply?.problem),
    ...optionalFact(details.error, error === undefined ? undefined : `${error.code}: ${error.message}`),
  ]
  return h(
    'div',
    null,
    h(Facts, { facts }),
    request === undefined
      ? h('p', { class: 'muted' }, details.noRequest)
      : h(Disclosure, {
          summary:
            call.abridgedAt === undefined
              ? `${details.request}: ${details.messages(request.messages.length)}, ${details.tools(request.tools.length)}`
              : details.request,
          content: () => h(RequestText, { runId, call }),
        }),
    h(
      'h4',
      null,
      details.reply,
      status === 'running' && h('span', { class: 'streaming' }, details.streaming),
    ),
    isVoid && h('p', { class: 'muted' }, details.isVoid),
    h(TextBlock, { text: reply?.text || text || (status === 'running' ? '' : details.noText) }),
    reply?.toolCalls.map(({ id, function: called }, position) =>
      h(
        'div',
        { key: `${id} ${position}`, class: 'asked' },
        h('code', null, printableLine(called.name, 80)),
        h(TextBlock, { text: indented(called.arguments) }),
      ),
    ),
  )
}

function RequestText({ runId, call }: { runId: string; call: ModelCall }): JSX.Element {
  const texts = useTexts()
  const request = useWholeRequest(runId, call)
  return request === undefined
    ? h('p', { class: 'muted' }, texts.memory.abridged)
    : h(TextBlock, { text: JSON.stringify(request, null, 2), class: 'json' })
}

function ToolDetails({ call }: { call: ToolCall }): JSX.Element {
  const texts = useTexts()
  const { details } = texts
  const { content, error, progress, progressCount, retries } = call
  return h(
    'div',
    null,
    h(Facts, { facts: [...durationFact(call, texts), ...optionalFact(details.error, error)] }),
    h('h4', null, details.arguments),
    h(TextBlock, { text: indented(call.arguments) }),
    retries.length > 0 && [
      h('h4', { key: 'h' }, details.retries),
      h(
        'ul',
        { key: 'l' },
        retries.map(({ failures, delayMs, message }) =>
          h(
            'li',
            { key: failures },
            `${details.retry(failures, duration(delayMs))}: ${printableLine(message)}`,
          ),
        ),
      ),
    ],
    progressCount > 0 && [
      h('h4', { key: 'h' }, details.progress(progressCount)),
      h(TextBlock, { key: 't', text: textOfValue(progress) }),
    ],
    h('h4', null, details.result),
    content === undefined
      ? h('p', { class: 'muted' }, details.running)
      : h(TextBlock, { text: content, class: error === undefined ? '' : 'failed' }),
  )
}

type Fact = readonly [name: string, value: string]

function Facts({ facts }: { facts: readonly Fact[] }): JSX.Element {
  return h(
    'dl',
    { class: 'facts-list' },
    facts.map(([name, value]) =>
      h('div', { key: name }, h('dt', null, name), h('dd', null, printable(value))),
    ),
  )
}

function optionalFact(name: string, value: string | undefined): Fact[] {
  return value === undefined ? [] : [[name, value]]
}

function durationFact(
  { durationMs, status }: { readonly durationMs?: number; readonly status: Call['status'] },
  { details }: Texts,
): Fact[] {
  if (durationMs !== undefined) return [[details.duration, duration(durationMs)]]
  return status === 'running' ? [[details.duration, details.running]] : []
}

function textOfValue(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '')
}
