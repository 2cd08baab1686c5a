import { h, type JSX } from 'preact'
import { type Theme, themes } from '../preferences.ts'
import type { Inspector } from '../wire/inspector.ts'
import { printableLine } from '../words/printable.ts'
import { useTexts } from './context.ts'

interface HeaderProps {
  readonly inspector: Inspector
  readonly theme: Theme
  readonly onTheme: (theme: Theme) => void
  readonly onLanguage: () => void
  readonly onHelp: () => void
}

export function Header({ inspector, theme, onTheme, onLanguage, onHelp }: HeaderProps): JSX.Element {
  const texts = useTexts()
  const { about, connection } = inspector
  return h(
    'header',
    { class: 'top' },
    h('h1', null, h('a', { href: '#/' }, 'Loopchart')),
    about?.agent !== undefined && h('span', { class: 'agent' }, printableLine(about.agent, 60)),
    h(
      'span',
      { class: `connection connection-${connection}`, role: 'status', title: texts.connection[connection] },
      h('i', { class: 'dot', 'aria-hidden': true }),
      h('span', { class: connection === 'open' ? 'wide' : '' }, texts.connection[connection]),
    ),
    h('span', { class: 'gap' }),
    h(
      'label',
      { class: 'choice' },
      h('span', { class: 'sr' }, texts.switchTheme),
      h(
        'select',
        {
          value: theme,
          onChange: (event: Event) => onTheme((event.currentTarget as HTMLSelectElement).value as Theme),
        },
        themes.map((name) => h('option', { key: name, value: name }, texts.theme[name])),
      ),
    ),
    h(
      'button',
      { type: 'button', onClick: onLanguage, 'aria-label': texts.switchLanguageLabel },
      texts.switchLanguage,
    ),
    h(
      'button',
      { type: 'button', class: 'round', onClick: onHelp, 'aria-label': texts.help, title: texts.help },
      '?',
    ),
  )
}
