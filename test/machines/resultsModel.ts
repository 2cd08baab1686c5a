/**
 * What the limits on results should say, written down again: which steps repeat, stagnate and fail, by what their calls
 * bring. It knows nothing of fingerprints; the tests compare it with the real machine.
 */
export const bounds = { steps: 9, repeats: 2, stagnation: 2, errorStreak: 3 } as const

/** `poll` is a tool that may be repeated. */
export type CallName = 'search' | 'read' | 'poll'

/** `fresh` is a long text that never was, `stale` always the same long one, `ok` always the same short one. */
export type Brought = 'fresh' | 'stale' | 'ok' | 'failed'

export interface SpecCall {
  readonly name: CallName
  readonly brings: Brought
}

export type SpecStep = readonly SpecCall[]

/** What a step leads to: the limit that concludes, or what the model is warned of. */
export interface Expected {
  readonly limit?: 'errorStreak' | 'repeats' | 'stagnation' | 'steps'
  readonly warned: readonly ('repeats' | 'stagnation')[]
}

export class ResultsModel {
  #step = 0
  #streak = 0
  #stagnant = 0
  readonly #failing = new Map<CallName, number>()
  readonly #count = new Map<CallName, number>()
  readonly #broughtBy = new Map<CallName, Set<Brought>>()
  readonly #seen = new Set<Brought>()

  take(calls: SpecStep): Expected {
    this.#step++
    const counts: number[] = []
    const news: boolean[] = []
    const failures: number[] = []
    for (const { name, brings } of calls) {
      if (brings === 'failed') {
        this.#streak++
        const count = (this.#failing.get(name) ?? 0) + 1
        this.#failing.set(name, count)
        failures.push(count)
      } else {
        this.#streak = 0
        this.#failing.delete(name)
      }
      if (name === 'poll') continue
      const before = this.#broughtBy.get(name)
      const isRepeated = before?.has(brings) === true
      const count = isRepeated ? (this.#count.get(name) ?? 0) + 1 : 1
      this.#count.set(name, count)
      if (isRepeated) counts.push(count)
      const hasMeaning = brings !== 'ok'
      news.push(before === undefined ? !(hasMeaning && this.#seen.has(brings)) : !isRepeated)
      if (brings !== 'fresh') this.#broughtBy.set(name, new Set([...(before ?? []), brings]))
      else this.#broughtBy.set(name, before ?? new Set())
      if (hasMeaning && brings !== 'fresh') this.#seen.add(brings)
    }
    const isStagnant = news.length > 0 && !news.includes(true)
    if (news.length > 0) this.#stagnant = isStagnant ? this.#stagnant + 1 : 0
    const worstFailure = failures.length === 0 ? 0 : Math.max(this.#streak, ...failures)
    return this.#judge(counts, isStagnant ? this.#stagnant : 0, worstFailure)
  }

  #judge(repeats: readonly number[], stagnation: number, failures: number): Expected {
    if (failures >= bounds.errorStreak) return { limit: 'errorStreak', warned: [] }
    if (Math.max(0, ...repeats) > bounds.repeats) return { limit: 'repeats', warned: [] }
    if (stagnation > bounds.stagnation) return { limit: 'stagnation', warned: [] }
    if (this.#step >= bounds.steps) return { limit: 'steps', warned: [] }
    return {
      warned: [
        ...repeats.filter((count) => count === bounds.repeats).map(() => 'repeats' as const),
        ...(stagnation === bounds.stagnation ? (['stagnation'] as const) : []),
      ],
    }
  }
}
