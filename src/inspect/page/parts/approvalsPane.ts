import { h, type JSX } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'
import type { PendingApproval } from '../../../machines/outcome.ts'
import type { Decision } from '../../../machines/reducers.ts'
import type { RunView } from '../run/runView.ts'
import { decide } from '../wire/api.ts'
import type { Inspector, OpenRun } from '../wire/inspector.ts'
import { messageOf } from '../words/messageOf.ts'
import { indented, printable, printableLine } from '../words/printable.ts'
import { hashOf } from '../words/route.ts'
import { useTexts } from './context.ts'
import { TextBlock } from './textBlock.ts'

interface ApprovalsPaneProps {
  readonly inspector: Inspector
  readonly run: OpenRun
  /** The newest one. */
  readonly view: RunView
  readonly isPast: boolean
}

/** What a person has to decide, and the means to do so. Whoever looks at the past is only told that there is something. */
export function ApprovalsPane({ inspector, run, view, isPast }: ApprovalsPaneProps): JSX.Element | null {
  const texts = useTexts()
  const approvals = pendingOf(run, view)
  if (approvals.length === 0) return null
  if (isPast) {
    return h(
      'p',
      { class: 'approvals' },
      h('a', { href: hashOf({ runId: run.runId }) }, texts.approvals.heading(approvals.length)),
    )
  }
  const canAct = inspector.about?.canAct === true
  return h(
    'section',
    { class: 'approvals', 'aria-label': texts.approvals.heading(approvals.length) },
    h('h3', null, texts.approvals.heading(approvals.length)),
    approvals.map((approval) =>
      h(Approval, { key: approval.callId, runId: run.runId, approval, canAct, round: view.at }),
    ),
    !canAct && h('p', { class: 'muted' }, texts.approvals.cannot),
  )
}

function pendingOf({ row }: OpenRun, { outcome, phase }: RunView): readonly PendingApproval[] {
  if (outcome?.status === 'waiting') return outcome.approvals
  return phase === 'unknown' && row?.status === 'waiting' ? (row.approvals ?? []) : []
}

interface ApprovalProps {
  readonly runId: string
  readonly approval: PendingApproval
  readonly canAct: boolean
  /** When it was asked: a call that is asked about again can be decided again. */
  readonly round: number
}

function Approval({ runId, approval, canAct, round }: ApprovalProps): JSX.Element {
  const { approvals: texts } = useTexts()
  const { callId, name, token, inDoubt } = approval
  const [edited, setEdited] = useState<string>()
  const [reason, setReason] = useState('')
  const [decided, setDecided] = useState<'no' | 'busy' | 'yes'>('no')
  const [problem, setProblem] = useState<string>()
  const id = useId()
  useEffect(() => setDecided('no'), [round])

  const take = async (answer: Pick<Decision, 'approved' | 'reason' | 'arguments'>): Promise<void> => {
    setDecided('busy')
    setProblem(undefined)
    try {
      const doubt = inDoubt === true ? { inDoubt } : {}
      await decide(runId, [{ callId, ...answer, ...(token === undefined ? {} : { token }), ...doubt }])
      setDecided('yes')
    } catch (thrown) {
      setProblem(messageOf(thrown))
      setDecided('no')
    }
  }
  const approve = (): void => {
    if (edited === undefined) {
      void take({ approved: true })
      return
    }
    try {
      void take({ approved: true, arguments: JSON.parse(edited) as unknown })
    } catch (thrown) {
      setProblem(`${texts.invalid} ${messageOf(thrown)}`)
    }
  }
  const isOff = decided !== 'no'
  return h(
    'article',
    { class: 'approval', 'aria-labelledby': id },
    h('h4', { id }, h('code', null, printableLine(name, 80))),
    inDoubt === true && h('p', { class: 'problem' }, texts.inDoubt),
    edited === undefined
      ? h(TextBlock, { text: indented(approval.arguments) })
      : h(
          'label',
          null,
          texts.arguments,
          h('textarea', {
            rows: Math.min(12, edited.split('\n').length + 1),
            value: edited,
            spellcheck: false,
            class: 'code',
            onInput: (event: Event) => setEdited((event.currentTarget as HTMLTextAreaElement).value),
          }),
        ),
    canAct &&
      h(
        'div',
        { class: 'buttons' },
        h('button', { type: 'button', class: 'primary', disabled: isOff, onClick: approve }, texts.approve),
        edited === undefined &&
          h(
            'button',
            { type: 'button', disabled: isOff, onClick: () => setEdited(editable(approval.arguments)) },
            texts.edit,
          ),
        h('input', {
          type: 'text',
          class: 'reason',
          value: reason,
          placeholder: texts.reason,
          'aria-label': texts.reason,
          onInput: (event: Event) => setReason((event.currentTarget as HTMLInputElement).value),
        }),
        h(
          'button',
          {
            type: 'button',
            class: 'danger',
            disabled: isOff,
            onClick: () =>
              void take({ approved: false, ...(reason.trim() === '' ? {} : { reason: reason.trim() }) }),
          },
          texts.reject,
        ),
      ),
    h(
      'p',
      { role: 'status', class: problem === undefined ? 'muted' : 'problem' },
      problem === undefined ? (decided === 'yes' ? texts.sent : '') : printable(problem),
    ),
  )
}

/** JSON in which marks that could deceive are spelled out, which means the same. */
function editable(json: string): string {
  return printable(indented(json))
}
