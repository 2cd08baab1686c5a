/** Counts tokens of o200k_base. */
export type Count = (text: string) => number

export type CounterName = 'loopchart' | 'js-tiktoken' | 'gpt-tokenizer'

/** Each counter as its users load it, ready to count when it is there. */
export const counters: Readonly<Record<CounterName, () => Promise<Count>>> = {
  async loopchart() {
    const { countTokens } = await import('../src/memory/tokens/countTokens.ts')
    countTokens('The ranks are loaded at the first count.')
    return countTokens
  },
  async 'js-tiktoken'() {
    const { Tiktoken } = await import('js-tiktoken/lite')
    const { default: ranks } = await import('js-tiktoken/ranks/o200k_base')
    const encoder = new Tiktoken(ranks)
    return (text) => encoder.encode(text, [], []).length
  },
  async 'gpt-tokenizer'() {
    const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base')
    return (text) => countTokens(text)
  },
}
