import type { Warning } from '../machines/limits/judgement.ts'

/** What limits warn of that they did not warn of before: one that was not heard yet is kept beside new ones. */
export function newWarnings(
  before: readonly Warning[] | undefined,
  after: readonly Warning[],
): readonly Warning[] {
  return after === before ? [] : after.filter((warning) => before?.includes(warning) !== true)
}
