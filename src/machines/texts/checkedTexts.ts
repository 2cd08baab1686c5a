import { MisuseError } from '../../errors.ts'
import { wellFormed } from '../../messages/sendable.ts'
import { type LimitTexts, limitTexts } from './limitTexts.ts'

/**
 * Texts of the user's, fit for a loop whose reducers must not throw: what one of them throws, or gives back that is no
 * text, is replaced by the English text.
 *
 * @throws MisuseError `invalid_texts` for one that is missing, empty or of another kind.
 */
export function checkedTexts(own: LimitTexts): LimitTexts {
  const { warnings: ownWarnings, ...ownTexts } = own ?? {}
  const { warnings, ...texts } = limitTexts.en
  return {
    ...checked(ownTexts, texts, ''),
    warnings: checked(ownWarnings, warnings, 'warnings.'),
  } as LimitTexts
}

type Texts = Readonly<Record<string, string | ((facts: never) => string)>>

function checked(own: object | undefined, english: object, path: string): Texts {
  const texts = english as Texts
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => {
      const given = (own as Texts | undefined)?.[name]
      const isEmpty = typeof given === 'string' && given.trim() === ''
      if (typeof given !== typeof text || isEmpty) {
        const kind = typeof text === 'string' ? 'string that is not empty' : typeof text
        throw new MisuseError(
          'invalid_texts',
          `texts.${path}${name} must be a ${kind}. Replace some with { ...limitTexts.en, closing: '…' }.`,
        )
      }
      if (typeof given === 'function' && typeof text === 'function') return [name, total(given, text)]
      return [name, wellFormed(given)]
    }),
  ) as Texts
}

function total(own: (facts: never) => unknown, english: (facts: never) => string): (facts: never) => string {
  return (facts) => {
    try {
      const text = own(facts)
      if (typeof text === 'string' && text.trim() !== '') return text.toWellFormed()
    } catch {
      // The English text stands in for it.
    }
    return english(facts)
  }
}
