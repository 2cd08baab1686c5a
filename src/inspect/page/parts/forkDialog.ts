import { h, type JSX } from 'preact'
import { useState } from 'preact/hooks'
import { fork } from '../wire/api.ts'
import { printableLine } from '../words/printable.ts'
import { useTexts } from './context.ts'
import { ActionDialog } from './dialog.ts'
import { goTo } from './navigate.ts'

/** Where a fork parts from its run, and what can be made different there: the model's reply, or a tool's result. */
export interface ForkSubject {
  readonly step: number
  readonly reply?: string
  readonly result?: { readonly callId: string; readonly name: string; readonly content: string }
}

interface ForkDialogProps {
  readonly runId: string
  readonly subject: ForkSubject
  readonly onClose: () => void
}

export function ForkDialog({ runId, subject, onClose }: ForkDialogProps): JSX.Element {
  const { dialogs } = useTexts()
  const { step, reply, result } = subject
  const [text, setText] = useState(result?.content ?? reply ?? '')
  const [isAsked, setIsAsked] = useState(result === undefined)
  const act = async (): Promise<void> => {
    const change = result === undefined ? { reply: text } : { results: { [result.callId]: text } }
    const forkId = await fork(runId, { at: step, ...(isAsked ? {} : change) })
    goTo({ runId: forkId })
  }
  return h(
    ActionDialog,
    {
      heading: dialogs.forkHeading(step),
      text: dialogs.forkText,
      action: dialogs.doFork,
      dismiss: dialogs.dismiss,
      act,
      onClose,
    },
    h(
      'label',
      { class: 'check' },
      h('input', {
        type: 'checkbox',
        checked: isAsked,
        onChange: (event: Event) => setIsAsked((event.currentTarget as HTMLInputElement).checked),
      }),
      dialogs.forkAsk,
    ),
    h(
      'label',
      null,
      result === undefined ? dialogs.forkReply : dialogs.forkResult(printableLine(result.name, 60)),
      h('textarea', {
        rows: 8,
        value: text,
        disabled: isAsked,
        onInput: (event: Event) => setText((event.currentTarget as HTMLTextAreaElement).value),
      }),
    ),
  )
}
