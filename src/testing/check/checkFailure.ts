import { LoopchartError } from '../../errors.ts'
import type { Play } from './play.ts'
import type { Breach, PromiseName } from './story.ts'

/** A path on which an agent breaks a promise. Its message is the story of the path. */
export class CheckFailure extends LoopchartError {
  override readonly name = 'CheckFailure'
  readonly promise: PromiseName
  /** Walks the same path again: `checkAgent(agent, { path })`. */
  readonly path: string

  constructor({ promise, expected, got, path }: Breach, story: string) {
    super(
      'check_failed',
      [
        `The promise "${promise}" does not hold on this path:`,
        '',
        story,
        '',
        `Expected: ${expected}`,
        `Got:      ${got}`,
        '',
        `This path alone: checkAgent(agent, { path: '${path}' }), with the other options as they are.`,
      ].join('\n'),
    )
    this.promise = promise
    this.path = path
  }
}

/** Throws what went wrong on a play. `path` is that of the run, where the play is a resumption of it. */
export function throwIfBroken<Output>({ misuse, breach, story }: Play<Output>, path?: string): void {
  if (misuse !== undefined) throw misuse.error
  if (breach !== undefined) throw new CheckFailure({ ...breach, path: path ?? breach.path }, String(story))
}
