import { createRequire } from 'node:module'
import type { TiktokenBPE } from 'js-tiktoken/lite'
import { BytePairCounter } from './bytePairCounter.ts'
import { type EncodingName, encodingOf } from './encodingOf.ts'
import type { TokenCounter } from './tokenCounter.ts'

/**
 * Tokens of a text as `model` counts them. The names of special tokens, such as `<|endoftext|>`, are text like any
 * other.
 *
 * @param model Default: unknown, counted as o200k_base.
 */
export function countTokens(text: string, model?: string): number {
  return tokenCounter(model).count(text)
}

/**
 * The counter for a model id, the same object for all models of an encoding. Its ranks are loaded at its first count,
 * once per process, which takes about a tenth of a second. `atMost` is the length in UTF-8, and loads nothing.
 *
 * @param model Default: unknown, counted as o200k_base.
 */
export function tokenCounter(model: string = ''): TokenCounter {
  return counters[encodingOf(model)]
}

class LazyCounter implements TokenCounter {
  readonly #encoding: EncodingName
  #counter: BytePairCounter | undefined

  constructor(encoding: EncodingName) {
    this.#encoding = encoding
  }

  count(text: string): number {
    this.#counter ??= new BytePairCounter(ranksOf(this.#encoding))
    return this.#counter.count(text)
  }

  atMost(text: string): number {
    return Buffer.byteLength(text)
  }
}

const counters: Readonly<Record<EncodingName, TokenCounter>> = {
  o200k_base: new LazyCounter('o200k_base'),
  cl100k_base: new LazyCounter('cl100k_base'),
}

/** Not `import()`: a memory decides what is shown while a run is folded, and there nothing can be waited for. */
function ranksOf(encoding: EncodingName): TiktokenBPE {
  return createRequire(import.meta.url)(`js-tiktoken/ranks/${encoding}`)
}
