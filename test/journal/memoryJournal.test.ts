import { describe } from 'vitest'
import { memoryJournal, memorySessions } from '../../src/index.ts'
import { storeBehaves } from './storeBehaves.ts'

describe('in memory', () => {
  const store = { journal: memoryJournal(), sessions: memorySessions() }
  storeBehaves(() => store)
})
