import { type Language, languageOf } from './words/texts.ts'

export type Theme = 'system' | 'light' | 'dark'

export const themes: readonly Theme[] = ['system', 'light', 'dark']

/** What a person has chosen, kept in the browser where it allows that. */
export function preferredTheme(): Theme {
  const kept = read('theme')
  return themes.find((theme) => theme === kept) ?? 'system'
}

export function preferredLanguage(): Language {
  const kept = read('language')
  return kept === 'en' || kept === 'zh' ? kept : languageOf(navigator.languages)
}

export function keepTheme(theme: Theme): void {
  write('theme', theme)
}

export function keepLanguage(language: Language): void {
  write('language', language)
}

const PREFIX = 'loopchart.inspector.'

function read(name: string): string | undefined {
  try {
    return localStorage.getItem(PREFIX + name) ?? undefined
  } catch {
    return undefined
  }
}

function write(name: string, value: string): void {
  try {
    localStorage.setItem(PREFIX + name, value)
  } catch {
    // A browser that keeps nothing: the choice holds until the page is left.
  }
}
