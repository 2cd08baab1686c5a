import { type Context, createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { type Language, languages, type Texts } from '../words/texts.ts'

export const LanguageContext: Context<Language> = createContext<Language>('en')

export function useTexts(): Texts {
  return languages[useContext(LanguageContext)]
}
