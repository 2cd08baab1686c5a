// Runs the shop and kills itself at one of the boundaries of its journal's appends: 2n before the append n, 2n+1 after it.
//
//   node shopProcess.ts '{"path":"runs.db","boundary":3,"ledger":"…","url":"…"}'
import type { Journal } from '../../src/index.ts'
import { sqliteStore } from '../../src/sqlite/index.ts'
import { shop, type World } from './shop.ts'

const { path, boundary, ...world } = JSON.parse(process.argv[2] ?? '') as World & {
  readonly path: string
  readonly boundary: number
}
const { journal } = sqliteStore({ path })
let passed = 0

function pass(): void {
  if (passed === boundary) process.kill(process.pid, 'SIGKILL')
  passed++
}

const deadly: Journal = {
  ...journal,
  append(...appended) {
    pass()
    const isAdded = journal.append(...appended)
    pass()
    return isAdded
  },
}

await shop(deadly, world).run('Sell it.', { runId: 'r' })
