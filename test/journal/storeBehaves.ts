import { expect, it } from 'vitest'
import type { Journal, SessionStore } from '../../src/index.ts'
import { journalChecks, sessionStoreChecks } from '../../src/testing/index.ts'
import { rejectionOf } from '../support/outcome.ts'

/** What every store promises, as tests. */
export function storeBehaves(
  open: () => { readonly journal: Journal; readonly sessions: SessionStore },
): void {
  for (const { name, run } of journalChecks(() => open().journal)) it(`a journal ${name}`, run)
  it.each([{ limit: 0 }, { limit: -1 }, { limit: 1.5 }, { limit: Number.NaN }, { status: 'over' as never }])(
    'a journal lists nothing for %j',
    async (query) => {
      const list = async (): Promise<unknown> => open().journal.list(query)
      expect(await rejectionOf(list())).toMatchObject({ code: 'invalid_query' })
    },
  )
  it('a journal prunes nothing for what is no time', async () => {
    const prune = async (): Promise<unknown> => open().journal.prune({ endedBefore: Number.NaN })
    expect(await rejectionOf(prune())).toMatchObject({ code: 'invalid_query' })
  })
  for (const { name, run } of sessionStoreChecks(() => open().sessions)) it(`a session store ${name}`, run)
}
