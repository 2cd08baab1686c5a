import { MisuseError } from '../../errors.ts'
import { type LimitTexts, limitTexts } from './limitTexts.ts'

/**
 * Texts of the user's, fit for a loop whose reducers must not throw: what one of them throws, or gives back that is no
 * text, is replaced by the English text.
 *
 * @throws MisuseError `invalid_texts` for one that is missing or of another kind.
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
      if (typeof given !== typeof text) {
        throw new MisuseError(
          'invalid_texts',
          `texts.${path}${name} must be a ${typeof text}. Replace some with { ...limitTexts.en, closing: '…' }.`,
        )
      }
      return [name, typeof given === 'function' && typeof text === 'function' ? total(given, text) : given]
    }),
  ) as Texts
}

function total(own: (facts: never) => unknown, english: (facts: never) => string): (facts: never) => string {
  return (facts) => {
    try {
      const text = own(facts)
      if (typeof text === 'string' && text !== '') return text.toWellFormed()
    } catch {
      // The English text stands in for it.
    }
    return english(facts)
  }
}
