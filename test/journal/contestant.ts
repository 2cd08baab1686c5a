// Appends to one run of a SQLite file, as others do at the same time, until it is long enough. Prints its wins.
//
//   node contestant.ts runs.db NAME LENGTH
import { sqliteStore } from '../../src/sqlite/index.ts'

const [path = '', name = '', length = ''] = process.argv.slice(2)
const { journal } = sqliteStore({ path })
let wins = 0
for (;;) {
  const before = (await journal.load('r'))?.length ?? 0
  if (before >= Number(length)) break
  if (await journal.append('r', [{ type: 'intent', at: Date.now(), place: name }], before)) wins++
}
console.log(wins)
