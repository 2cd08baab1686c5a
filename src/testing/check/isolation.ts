import { throwIfBroken } from './checkFailure.ts'
import { difference, outcomeText } from './outcomeText.ts'
import { along, type Path } from './paths.ts'
import { Play, type Stage } from './play.ts'

/** How many paths are walked once more, alone and then all at once. */
const PATHS = 20

/** Each run begins so many promises after the one before it, so that one is early where another is late. */
const STAGGER = 5

/** Sees that runs which go on at the same time do not disturb each other: each must be as it is alone. */
export async function checkIsolation<Output>(stage: Stage<Output>, walked: readonly Path[]): Promise<void> {
  const paths = spread(walked, PATHS)
  const alone: Play<Output>[] = []
  for (const [i, path] of paths.entries()) alone.push(await walk(path, i))
  const together = await Promise.all(
    paths.map(async (path, i) => {
      for (let promises = i * STAGGER; promises > 0; promises--) await undefined
      return walk(path, i)
    }),
  )
  for (const [i, play] of together.entries()) {
    const [was, is] = [alone[i], play].map(seen)
    if (was !== is) play.broken('isolated', 'a run beside others goes as it does alone', difference(was, is))
    throwIfBroken(play)
  }

  async function walk(path: Path, i: number): Promise<Play<Output>> {
    const play = new Play(stage, along(path), { runId: `check-${i}` })
    await play.lead()
    return play
  }
}

/** What was asked of the world, what the model was shown, and what came of it, as text. */
function seen<Output>(play: Play<Output> | undefined): string {
  const decisions = play?.decisions.map(({ key, name }) => `${key}: ${name}`)
  const requests = play?.requests.map(({ messages }) => messages)
  return JSON.stringify({ decisions, requests, outcome: outcomeText(play?.outcome) })
}

/** So many of the items, at equal distances. */
function spread<Item>(items: readonly Item[], count: number): readonly Item[] {
  const distance = Math.max(1, items.length / count)
  return Array.from(
    { length: Math.min(count, items.length) },
    (_, i) => items[Math.floor(i * distance)] as Item,
  )
}
