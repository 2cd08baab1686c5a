import { type ComponentChildren, h, type JSX } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { messageOf } from '../words/messageOf.ts'
import { printable } from '../words/printable.ts'
import { useTexts } from './context.ts'

interface DialogProps {
  readonly heading: string
  readonly onClose: () => void
  readonly children?: ComponentChildren
}

/** A dialog of the browser's own: it keeps the focus, and Escape closes it. */
export function Dialog({ heading, onClose, children }: DialogProps): JSX.Element {
  const element = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    element.current?.showModal()
  }, [])
  return h('dialog', { ref: element, 'aria-labelledby': id, onClose }, h('h2', { id }, heading), children)
}

interface ActionDialogProps extends DialogProps {
  readonly text: string
  /** What the button says that does it. */
  readonly action: string
  readonly dismiss: string
  readonly isDangerous?: boolean
  /** Whether there is nothing to do yet. */
  readonly isBlocked?: boolean
  readonly act: () => Promise<void>
}

/** A dialog that does something on the server, stays open while that is tried, and says what went wrong. */
export function ActionDialog(props: ActionDialogProps): JSX.Element {
  const texts = useTexts()
  const [isBusy, setIsBusy] = useState(false)
  const [problem, setProblem] = useState<string>()
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    setIsBusy(true)
    setProblem(undefined)
    try {
      await props.act()
      props.onClose()
    } catch (thrown) {
      setProblem(messageOf(thrown))
      setIsBusy(false)
    }
  }
  return h(
    Dialog,
    { heading: props.heading, onClose: props.onClose },
    h(
      'form',
      { onSubmit: submit },
      h('p', null, props.text),
      props.children,
      problem !== undefined &&
        h('p', { class: 'problem', role: 'alert' }, `${texts.dialogs.failed} ${printable(problem)}`),
      h(
        'div',
        { class: 'buttons' },
        h('button', { type: 'button', onClick: props.onClose }, props.dismiss),
        h(
          'button',
          {
            type: 'submit',
            class: props.isDangerous === true ? 'danger' : 'primary',
            disabled: isBusy || props.isBlocked === true,
          },
          props.action,
        ),
      ),
    ),
  )
}
