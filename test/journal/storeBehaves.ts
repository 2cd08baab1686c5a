import { it } from 'vitest'
import type { Journal, SessionStore } from '../../src/index.ts'
import { journalChecks, sessionStoreChecks } from '../../src/testing/index.ts'

/** What every store promises, as tests. */
export function storeBehaves(
  open: () => { readonly journal: Journal; readonly sessions: SessionStore },
): void {
  for (const { name, run } of journalChecks(() => open().journal)) it(`a journal ${name}`, run)
  for (const { name, run } of sessionStoreChecks(() => open().sessions)) it(`a session store ${name}`, run)
}
