import type { EdgeName } from '../../machines/edgeNames.ts'

/** The promises that are checked, by the names that stories give them. */
export type PromiseName =
  | 'one outcome'
  | 'it settles'
  | 'always sendable'
  | 'bounded'
  | 'once'
  | 'explained'
  | 'isolated'

/** A promise that did not hold. */
export interface Breach {
  readonly promise: PromiseName
  readonly expected: string
  readonly got: string
  /** The choices that led to it. */
  readonly path: string
}

interface Line {
  readonly told: string
  /** Where the machine went after it. */
  readonly moves: EdgeName[]
}

/** What has happened on a path, for people: what the world did, and where the machine went on it. */
export class Story {
  readonly #lines: Line[] = []
  #ended = false

  tell(told: string): void {
    if (!this.#ended) this.#lines.push({ told, moves: [] })
  }

  move(edge: EdgeName): void {
    if (!this.#ended) this.#lines.at(-1)?.moves.push(edge)
  }

  /** What follows is of no interest. */
  end(): void {
    this.#ended = true
  }

  toString(): string {
    const width = String(this.#lines.length).length
    const indent = ' '.repeat(width + 4)
    return this.#lines
      .flatMap(({ told, moves }, i) => [
        `  ${String(i + 1).padStart(width)}. ${told}`,
        ...(moves.length === 0 ? [] : [indent + movesText(moves)]),
      ])
      .join('\n')
  }
}

/** `thinking.calling → parsing → executingTools [hasCalls]` */
function movesText(moves: readonly EdgeName[]): string {
  const places = moves.flatMap(({ to, guard }) =>
    to === undefined ? [] : [`→ ${to}${guard === undefined ? '' : ` [${guard}]`}`],
  )
  return places.length === 0 ? `stays in ${moves[0]?.from}` : `${moves[0]?.from} ${places.join(' ')}`
}
