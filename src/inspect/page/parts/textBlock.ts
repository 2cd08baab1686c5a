import { h, type JSX } from 'preact'
import { useState } from 'preact/hooks'
import { count } from '../words/format.ts'
import { printable } from '../words/printable.ts'
import { useTexts } from './context.ts'

/** How many characters of a text are shown before somebody asks for all of it. */
const SHOWN = 6000

/** Text of a model, a tool or a person: always text, never markup. */
export function TextBlock({ text, class: name = '' }: { text: string; class?: string }): JSX.Element {
  const texts = useTexts()
  const [isWhole, setIsWhole] = useState(false)
  const isCut = !isWhole && text.length > SHOWN
  return h(
    'div',
    { class: `text ${name}` },
    h('pre', { dir: 'auto' }, printable(isCut ? text.slice(0, SHOWN) : text)),
    isCut &&
      h(
        'button',
        { type: 'button', class: 'link', onClick: () => setIsWhole(true) },
        texts.details.showAll(count(text.length)),
      ),
  )
}
