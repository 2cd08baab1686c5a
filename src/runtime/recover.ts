import { delay } from '../delay.ts'
import { LoopchartError, messageOf } from '../errors.ts'
import type { Journal, RunSummary } from '../journal/entry.ts'
import type { Outcome } from '../machines/outcome.ts'

/** What became of a run that was left running. */
export type RecoveredRun<Output = string> =
  | { readonly runId: string; readonly outcome: Outcome<Output> }
  /** It could not be taken up, as `agent.resume` would say: it stays as it is. */
  | { readonly runId: string; readonly error: LoopchartError }

export interface RecoveryOptions<Output> {
  /** How many runs go on at once. */
  readonly concurrency: number
  readonly signal?: AbortSignal | undefined
  /** Milliseconds for which a lease holds without being renewed. */
  readonly leaseMs: number
  readonly onOutcome?: ((run: RecoveredRun<Output>) => unknown) | undefined
  /** Takes a run up, unless another process is at work on it. */
  resume(runId: string): Promise<Outcome<Output>>
}

/** Why a run is none to be taken up here: somebody is at work on it or was, it is another agent's, or the agent is closed. */
const PASSED_OVER = new Set(['run_active', 'run_settled', 'other_agent', 'agent_closed', 'run_not_found'])

/** A lease that a process left behind must have run out before the second look. */
const LEASE_MARGIN = 1.1

/**
 * Takes up all runs of a journal that were left running. A process that has just died still holds its leases, so those
 * runs are looked at again once they must have run out.
 *
 * @returns What became of each, in the order in which they ended. Rejects with `journal_error` where the runs cannot be
 * listed.
 */
export async function recoverRuns<Output>(
  journal: Journal,
  options: RecoveryOptions<Output>,
): Promise<readonly RecoveredRun<Output>[]> {
  const recovered: RecoveredRun<Output>[] = []
  const held = await takeUp(await runningRuns(journal), recovered, options)
  if (held.length > 0 && (await isTimeToLookAgain(options))) {
    const left = (await runningRuns(journal)).filter((runId) => held.includes(runId))
    await takeUp(left, recovered, options)
  }
  return recovered
}

/** @returns The runs that another process holds. */
async function takeUp<Output>(
  runIds: readonly string[],
  recovered: RecoveredRun<Output>[],
  { concurrency, signal, onOutcome, resume }: RecoveryOptions<Output>,
): Promise<readonly string[]> {
  const held: string[] = []
  const waiting = [...runIds].reverse()
  const work = async (): Promise<void> => {
    for (let runId = waiting.pop(); runId !== undefined; runId = waiting.pop()) {
      if (signal?.aborted === true) return
      const run = await resumed(runId, resume)
      if ('error' in run && PASSED_OVER.has(run.error.code)) {
        if (run.error.code === 'run_active') held.push(runId)
        continue
      }
      recovered.push(run)
      tell(onOutcome, run)
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, waiting.length) }, work))
  return held
}

async function resumed<Output>(
  runId: string,
  resume: RecoveryOptions<Output>['resume'],
): Promise<RecoveredRun<Output>> {
  try {
    return { runId, outcome: await resume(runId) }
  } catch (thrown) {
    const error =
      thrown instanceof LoopchartError
        ? thrown
        : new LoopchartError('internal_error', messageOf(thrown), { cause: thrown })
    return { runId, error }
  }
}

/** A watcher that fails costs a warning, not the other runs. */
function tell<Output>(onOutcome: RecoveryOptions<Output>['onOutcome'], run: RecoveredRun<Output>): void {
  const warn = (thrown: unknown): void =>
    process.emitWarning(`onOutcome threw on run "${run.runId}": ${messageOf(thrown)}`, {
      code: 'LOOPCHART_ON_OUTCOME',
    })
  try {
    const returned = onOutcome?.(run)
    if (returned instanceof Promise) returned.catch(warn)
  } catch (thrown) {
    warn(thrown)
  }
}

async function isTimeToLookAgain({
  leaseMs,
  signal = new AbortController().signal,
}: Pick<RecoveryOptions<unknown>, 'leaseMs' | 'signal'>): Promise<boolean> {
  try {
    await delay(leaseMs * LEASE_MARGIN, signal)
    return true
  } catch {
    return false
  }
}

/** The oldest first. */
async function runningRuns(journal: Journal): Promise<readonly string[]> {
  const runIds: string[] = []
  let before: RunSummary | undefined
  try {
    do {
      const page = await journal.list({ status: 'running', before })
      runIds.push(...page.map(({ runId }) => runId))
      before = page.at(-1)
    } while (before !== undefined)
  } catch (cause) {
    throw new LoopchartError('journal_error', `The runs cannot be listed: ${messageOf(cause)}`, { cause })
  }
  return runIds.reverse()
}
