import { inspect, isDeepStrictEqual } from 'node:util'
import { LoopchartError } from '../errors.ts'

/** Something that a store promises, with the code that finds out: `for (const { name, run } of checks) it(name, run)`. */
export interface Check {
  readonly name: string
  /** Rejects with an error that tells what was promised and what was seen. */
  run(): Promise<void>
}

/** What a check says of the store that it looks at. */
export class Findings {
  readonly #code: string

  constructor(code: string) {
    this.#code = code
  }

  /** @throws LoopchartError where two values are not the same. */
  same(seen: unknown, expected: unknown, what: string): void {
    if (isDeepStrictEqual(seen, expected)) return
    throw new LoopchartError(this.#code, `${what}.\nExpected: ${shown(expected)}\nSeen:     ${shown(seen)}`)
  }

  /** What a promise is rejected with. Throws where it is not. */
  async rejection(act: () => unknown, what: string): Promise<unknown> {
    try {
      await act()
    } catch (thrown) {
      return thrown
    }
    throw new LoopchartError(this.#code, `${what}.`)
  }
}

const MAX_SHOWN = 2000

function shown(value: unknown): string {
  const text = inspect(value, { depth: 8, breakLength: 100 })
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
}
