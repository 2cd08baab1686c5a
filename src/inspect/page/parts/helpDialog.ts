import { h, type JSX } from 'preact'
import { useTexts } from './context.ts'
import { Dialog } from './dialog.ts'

export function HelpDialog({ onClose }: { onClose: () => void }): JSX.Element {
  const texts = useTexts()
  return h(
    Dialog,
    { heading: texts.help, onClose },
    h(
      'dl',
      { class: 'keys' },
      texts.keys.map(([keys, meaning]) =>
        h(
          'div',
          { key: keys },
          h(
            'dt',
            null,
            keys.split(' ').map((key) => h('kbd', { key }, key)),
          ),
          h('dd', null, meaning),
        ),
      ),
    ),
    h(
      'form',
      { method: 'dialog', class: 'buttons' },
      h('button', { type: 'button', class: 'primary', onClick: onClose }, texts.close),
    ),
  )
}
