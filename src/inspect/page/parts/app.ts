import { h, type JSX } from 'preact'
import { useCallback, useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { keepLanguage, keepTheme, preferredLanguage, preferredTheme, type Theme } from '../preferences.ts'
import type { Inspector } from '../wire/inspector.ts'
import { type Language, languages } from '../words/texts.ts'
import { LanguageContext } from './context.ts'
import { Header } from './header.ts'
import { HelpDialog } from './helpDialog.ts'
import { useInspector, useRoute } from './hooks.ts'
import { RunPane } from './runPane.ts'
import { RunsPane } from './runsPane.ts'
import { useRunKeys } from './useRunKeys.ts'

export function App({ inspector }: { inspector: Inspector }): JSX.Element {
  const { runId, at } = useRoute()
  const [language, setLanguage] = useState<Language>(preferredLanguage)
  const [theme, setTheme] = useState<Theme>(preferredTheme)
  const [needsHelp, setNeedsHelp] = useState(false)
  const showHelp = useCallback(() => setNeedsHelp(true), [])
  useInspector(inspector)
  useEffect(() => inspector.start(runId), [inspector])
  useEffect(() => inspector.show(runId), [inspector, runId])
  useLayoutEffect(() => {
    document.documentElement.dataset.theme = theme
    keepTheme(theme)
  }, [theme])
  useLayoutEffect(() => {
    document.documentElement.lang = language === 'zh' ? 'zh-CN' : 'en'
    document.title = languages[language].title
    keepLanguage(language)
  }, [language])
  useRunKeys(inspector, showHelp)
  const header = h(Header, {
    inspector,
    theme,
    onTheme: setTheme,
    onLanguage: () => setLanguage(language === 'zh' ? 'en' : 'zh'),
    onHelp: showHelp,
  })
  const { open } = inspector
  return h(
    LanguageContext.Provider,
    { value: language },
    h('a', { class: 'skip', href: '#run' }, languages[language].skipToRun),
    header,
    h(
      'div',
      { class: runId === undefined ? 'columns at-list' : 'columns at-run' },
      h(RunsPane, { inspector, runId }),
      h(
        'main',
        { id: 'run', tabIndex: -1 },
        open === undefined
          ? h('p', { class: 'empty' }, languages[language].run.choose)
          : h(RunPane, { key: open.runId, inspector, run: open, at }),
      ),
    ),
    needsHelp && h(HelpDialog, { onClose: () => setNeedsHelp(false) }),
  )
}
