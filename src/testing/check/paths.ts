import { MisuseError } from '../../errors.ts'
import type { Chooser, Decided } from './play.ts'

/** Choices from the beginning of a run; after the last one, the first alternative is taken each time. */
export type Path = readonly string[]

/** The choices of a path as text: `call add, ok, answer`. */
export function pathOf(text: string): Path {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

/** Walks a path. */
export function along(path: Path): Chooser {
  let position = 0
  return () => path[position++]
}

/**
 * Walks a path that a person wrote.
 *
 * @throws MisuseError `invalid_path` where there is no such choice.
 */
export function strictlyAlong(path: Path): { readonly choose: Chooser; assertWalked(): void } {
  let position = 0
  return {
    choose({ key, alternatives }) {
      const name = path[position++]
      if (name === undefined || alternatives.includes(name)) return name
      throw new MisuseError(
        'invalid_path',
        `The path has "${name}" as choice ${position}, but at that point (${key}) there is only: ${alternatives.join(', ')}.`,
      )
    },
    assertWalked() {
      if (position >= path.length) return
      throw new MisuseError(
        'invalid_path',
        `The run ended after ${position} choices of the path; "${path.slice(position).join(', ')}" is left.`,
      )
    },
  }
}

/** Paths to walk, the shortest first. */
export class Frontier {
  readonly #byLength: Path[][] = [[[]]]

  next(): Path | undefined {
    return this.#byLength.find((paths) => paths.length > 0)?.shift()
  }

  /** Adds every path that leaves a walked one where nobody had said yet how to go on, up to a number of choices. */
  branch(walked: Path, decisions: readonly Decided[], depth: number): void {
    const path = [...walked]
    const free = decisions.filter(({ automatic }) => !automatic).slice(walked.length, depth)
    for (const { alternatives, name } of free) {
      for (const other of alternatives) if (other !== name) this.#add([...path, other])
      path.push(name)
    }
  }

  #add(path: Path): void {
    const ofLength = this.#byLength[path.length] ?? []
    this.#byLength[path.length] = ofLength
    ofLength.push(path)
  }
}
