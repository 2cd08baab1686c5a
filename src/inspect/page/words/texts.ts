import { chinese } from './chinese.ts'
import { english } from './english.ts'

export type Texts = typeof english

export type Language = 'en' | 'zh'

export const languages: Readonly<Record<Language, Texts>> = { en: english, zh: chinese }

/** The language that fits the first preference which the page speaks. Default: English. */
export function languageOf(preferences: readonly string[]): Language {
  for (const preference of preferences) {
    const base = preference.toLowerCase().split('-')[0]
    if (base === 'zh' || base === 'en') return base
  }
  return 'en'
}
