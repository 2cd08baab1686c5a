import { h, type JSX } from 'preact'
import { useState } from 'preact/hooks'
import { type RunView, stepNumberOf } from '../run/runView.ts'
import { cancel, resume, send } from '../wire/api.ts'
import type { Inspector, OpenRun } from '../wire/inspector.ts'
import { count, duration, money } from '../words/format.ts'
import { messageOf } from '../words/messageOf.ts'
import { printable, printableLine } from '../words/printable.ts'
import { hashOf } from '../words/route.ts'
import { useTexts } from './context.ts'
import { ActionDialog } from './dialog.ts'
import { StatusBadge } from './statusBadge.ts'

interface RunHeadProps {
  readonly inspector: Inspector
  readonly run: OpenRun
  /** The newest one. */
  readonly view: RunView
  /** Milliseconds. */
  readonly elapsed: number
}

type Asked = 'cancel' | 'message'

/** Which run it is, how it stands, and what can be done with it. */
export function RunHead({ inspector, run, view, elapsed }: RunHeadProps): JSX.Element {
  const texts = useTexts()
  const [asked, setAsked] = useState<Asked>()
  const [problem, setProblem] = useState<string>()
  const { runId, row } = run
  const { about } = inspector
  const canAct = about?.canAct === true
  const isLive = row?.isLive === true
  const status = row?.status ?? (view.phase === 'unknown' ? undefined : view.phase)
  const reason = view.outcome?.status === 'aborted' ? view.outcome.reason : row?.reason
  const tokens = view.usage === undefined ? row?.tokens : view.usage.inputTokens + view.usage.outputTokens
  const cost = view.cost ?? row?.cost
  // A run that waits goes on with a decision; these have lost their process.
  const isLeft = !isLive && (status === 'running' || reason === 'interrupted')
  const canResume = canAct && about.isKept && isLeft
  const forkOf = row?.forkOf
  const tryResume = async (): Promise<void> => {
    setProblem(undefined)
    await resume(runId).catch((thrown: unknown) => setProblem(messageOf(thrown)))
  }
  return h(
    'header',
    { class: 'run-head' },
    h('a', { class: 'back', href: '#/' }, `‹ ${texts.runs.back}`),
    h('h2', { dir: 'auto', title: row?.question }, printableLine(row?.question ?? runId, 200)),
    h(
      'div',
      { class: 'run-line' },
      status !== undefined && h(StatusBadge, { status, reason }),
      isLive && h('span', { class: 'live' }, texts.runs.live),
      h('code', { class: 'run-id', title: runId }, printable(runId)),
      h(
        'span',
        { class: 'facts' },
        [
          texts.runs.steps(view.phase === 'unknown' ? (row?.steps ?? 0) : stepNumberOf(view)),
          ...(tokens === undefined ? [] : [texts.runs.tokens(count(tokens))]),
          ...(cost === undefined ? [] : [texts.runs.cost(money(cost))]),
          duration(elapsed),
        ].join(' · '),
      ),
      forkOf !== undefined &&
        h(
          'a',
          { class: 'fork-of', href: hashOf({ runId: forkOf.runId }) },
          texts.runs.forkOf(printableLine(forkOf.runId, 12), forkOf.at),
        ),
      h('span', { class: 'gap' }),
      h(CopyLink, null),
      canAct &&
        isLive &&
        h('button', { type: 'button', onClick: () => setAsked('message') }, texts.run.message),
      canAct &&
        (isLive || status === 'waiting') &&
        h('button', { type: 'button', class: 'danger', onClick: () => setAsked('cancel') }, texts.run.cancel),
      canResume && h('button', { type: 'button', onClick: tryResume }, texts.run.resume),
    ),
    problem !== undefined &&
      h('p', { class: 'problem', role: 'alert' }, `${texts.dialogs.failed} ${printable(problem)}`),
    asked === 'cancel' && h(CancelDialog, { runId, onClose: () => setAsked(undefined) }),
    asked === 'message' && h(MessageDialog, { runId, onClose: () => setAsked(undefined) }),
  )
}

function CopyLink(): JSX.Element {
  const texts = useTexts()
  const [isCopied, setIsCopied] = useState(false)
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(location.href).catch(() => {})
    setIsCopied(true)
  }
  return h(
    'button',
    { type: 'button', class: 'copy', onClick: copy, onBlur: () => setIsCopied(false) },
    isCopied ? texts.run.copied : texts.run.copyLink,
  )
}

interface DialogProps {
  readonly runId: string
  readonly onClose: () => void
}

function CancelDialog({ runId, onClose }: DialogProps): JSX.Element {
  const { dialogs, run } = useTexts()
  const [message, setMessage] = useState('')
  return h(
    ActionDialog,
    {
      heading: dialogs.cancelHeading,
      text: dialogs.cancelText,
      action: dialogs.doCancel,
      dismiss: dialogs.keep,
      isDangerous: true,
      act: () => cancel(runId, message.trim()),
      onClose,
    },
    h(
      'label',
      null,
      dialogs.cancelReason,
      h('input', {
        type: 'text',
        value: message,
        name: run.cancel,
        onInput: (event: Event) => setMessage((event.currentTarget as HTMLInputElement).value),
      }),
    ),
  )
}

function MessageDialog({ runId, onClose }: DialogProps): JSX.Element {
  const { dialogs } = useTexts()
  const [content, setContent] = useState('')
  return h(
    ActionDialog,
    {
      heading: dialogs.messageHeading,
      text: dialogs.messageText,
      action: dialogs.send,
      dismiss: dialogs.dismiss,
      isBlocked: content.trim() === '',
      act: () => send(runId, { role: 'user', content }),
      onClose,
    },
    h(
      'label',
      null,
      dialogs.messageLabel,
      h('textarea', {
        rows: 4,
        value: content,
        onInput: (event: Event) => setContent((event.currentTarget as HTMLTextAreaElement).value),
      }),
    ),
  )
}
