import { environment } from '../environment.ts'
import { Interruption, messageOf } from '../errors.ts'
import type { Cancellation, Journal } from '../journal/entry.ts'
import type {
  Aborted,
  Done,
  Ending,
  EndingFacts,
  Outcome,
  OutcomeFacts,
  PendingApproval,
  Waiting,
} from '../machines/outcome.ts'
import type { ReadResult } from '../messages/readJson.ts'
import type { ToolCall, UserMessage } from '../messages/types.ts'
import type { RunTools } from '../tools/toolbox.ts'
import { approvalToken } from './approvalToken.ts'
import { Driver, type DriverOptions, type StartingPoint } from './driver.ts'
import { EventStream } from './eventStream.ts'
import type { AgentEvent, EventBody } from './events.ts'
import type { Fold } from './fold.ts'
import { Inbox } from './inbox.ts'
import { InProcessHost, type Services } from './inProcessHost.ts'
import { Narrator } from './narrator.ts'
import { notify } from './notify.ts'
import type { Shutdown } from './shutdown.ts'

/** A run that is ready to be driven. */
export interface PreparedRun {
  readonly id: string
  readonly fold: Fold
  /** Entries in its journal. */
  readonly recorded: number
  readonly from: StartingPoint
  /** Whether it has begun before, perhaps in another process. */
  readonly resumed: boolean
}

export interface ExecutionOptions<Output> {
  readonly services: Services
  readonly journal?: Journal | undefined
  /** Each of them can abort the run. */
  readonly signals: readonly (AbortSignal | undefined)[]
  readonly onEvent?: ((event: AgentEvent) => unknown) | undefined
  readonly tools: RunTools
  /** Leads the run out of the process. */
  readonly shutdown: Shutdown
  /** What of an event a watcher may see. */
  readonly redact?: ((event: AgentEvent) => AgentEvent | undefined) | undefined
  /** What the caller gives the tools of this run. */
  readonly context?: unknown
  /** Messages for the run while it is under way. */
  readonly inbox?: Inbox | undefined
  /** The runs of the agent that are under way. */
  readonly active: Set<RunUnderWay>
  /** Makes of the answer's text what the agent promises. */
  readonly read: (text: string) => ReadResult<Output>
}

/** What can be said to a run while it is under way. */
export interface RunUnderWay {
  readonly runId: string
  send(message: UserMessage): Promise<void>
  abort(message?: string): void
}

/** A run that can be watched: iterate over its events, await its outcome, or both. */
export interface Run<Output = string> extends AsyncIterable<AgentEvent> {
  readonly id: string
  /** Settles exactly once, and never rejects for what happens at run time. */
  readonly outcome: Promise<Outcome<Output>>
  /** Stops the run: it settles at once as `aborted` with reason `cancelled`. */
  abort(message?: string): void
  /**
   * Tells the model something while the run is under way. It reads the message with the next step, below the results of
   * the present one. A message that comes while the model writes its answer makes the run go on instead of ending, within
   * its limits; one that comes while it writes its closing answer stays unanswered at the end of the transcript.
   *
   * @returns Resolves once the message is part of the run. Rejects with `run_ended` where the run ends before that.
   * @throws MisuseError `empty_input` or `invalid_input` for what is no message; LoopchartError `run_ended` where the run
   * has ended, or waits for a person.
   */
  send(message: string | UserMessage): Promise<void>
}

/** Drives a run in this process. */
export async function execute<Output>(
  run: PreparedRun,
  options: ExecutionOptions<Output>,
): Promise<Outcome<Output>> {
  const { services, journal, inbox = new Inbox(), onEvent, redact } = options
  const startedAt = environment().now()
  const narrator =
    onEvent &&
    new Narrator(
      (body: EventBody) => notify(onEvent, { runId: run.id, at: environment().wallNow(), ...body }, redact),
      () => environment().now(),
    )
  const host = new InProcessHost(
    services,
    {
      runId: run.id,
      context: options.context,
      tools: options.tools,
      elapsedMs: () => run.fold.elapsedAt(environment().wallNow()),
    },
    narrator && ((effect, report) => narrator.effectReported(effect, report)),
  )
  const driver: Driver = new Driver(run.fold, {
    host,
    record: journal && recorder(journal, run),
    taken: (event) => inbox.taken(event),
    narrator,
    shutdown: options.shutdown,
  })
  const signals = options.signals.filter((signal) => signal !== undefined && signal !== null)
  const cancel = (event: Event): void => {
    const signal = event.target as AbortSignal
    if (signal.reason instanceof Interruption) driver.interrupt()
    else host.cancel(cancellationOf(signal))
  }
  for (const signal of signals) signal.addEventListener('abort', cancel, { once: true })
  if (signals.some(({ reason }) => reason instanceof Interruption)) driver.interrupt()
  const underWay: RunUnderWay = {
    runId: run.id,
    send: (message) => inbox.send(message),
    abort: (message) => host.cancel(message === undefined ? {} : { message }),
  }
  try {
    if (run.from.opening !== undefined) await driver.open(run.from.opening)
    options.active.add(underWay)
    narrator?.runStarted(run.fold.snapshot, run.resumed ? run.recorded : undefined)
    inbox.open((event) => host.tell(event))
    const ending = await driver.drive(withCancellation(run.from, signals))
    inbox.close()
    const outcome = outcomeOf(ending, {
      runId: run.id,
      durationMs: environment().now() - startedAt,
      read: options.read,
    })
    // Watchers are shown a copy: what they, or redact, change of it is theirs.
    narrator?.runFinished({ ...outcome })
    return outcome
  } finally {
    options.active.delete(underWay)
    inbox.close()
    for (const signal of signals) signal.removeEventListener('abort', cancel)
  }
}

/** Writes at the end of a run's journal, as long as nobody else does. */
function recorder(journal: Journal, { id, recorded }: PreparedRun): NonNullable<DriverOptions['record']> {
  let length = recorded
  return (entries) => {
    const before = length
    length += entries.length
    return journal.append(id, entries, before)
  }
}

/** Drives a run whose events are read by a consumer. */
export function watch<Output>(
  id: string,
  launch: (options: ExecutionOptions<Output>) => Promise<Outcome<Output>>,
  options: ExecutionOptions<Output>,
  checkMessage: (message: string | UserMessage) => UserMessage,
): Run<Output> {
  const controller = new AbortController()
  const abort = (message?: string): void => controller.abort(message)
  const events = new EventStream(() => abort('The consumer of the events left.'))
  const inbox = new Inbox()
  const outcome = launch({
    ...options,
    inbox,
    signals: [...options.signals, controller.signal],
    onEvent(event) {
      events.push(event)
      return options.onEvent?.(event)
    },
  })
  outcome.then(
    () => events.close(),
    (error) => {
      inbox.close()
      events.fail(error)
    },
  )
  return {
    id,
    outcome,
    abort,
    send: (message) => inbox.send(checkMessage(message)),
    [Symbol.asyncIterator]: () => events,
  }
}

/** The outcome that an ending comes to. */
export function outcomeOf<Output>(
  ending: Ending,
  { read, ...facts }: Pick<OutcomeFacts, 'runId' | 'durationMs'> & Pick<ExecutionOptions<Output>, 'read'>,
): Outcome<Output> {
  return withTokens({ ...facts, ...withOutput(ending, read) })
}

/** The form was checked when the answer came, so it can only fail where a resumed agent promises another form. */
function withOutput<Output>(
  ending: Ending,
  read: ExecutionOptions<Output>['read'],
): EndingFacts & (Done<Output> | Aborted | Waiting) {
  if (ending.status !== 'done') return ending
  const { output: text, ...done } = ending
  const output = read(text)
  if (output.ok) return { ...done, output: output.value }
  return { ...done, status: 'aborted', reason: 'malformed_response', message: output.problem, partial: text }
}

/** Each pending approval can be bound to exactly the call that a person was shown. */
function withTokens<Output>(outcome: Outcome<Output>): Outcome<Output> {
  if (outcome.status !== 'waiting') return outcome
  const approvals = outcome.approvals.map((pending) => ({
    ...pending,
    token: pending.token ?? approvalToken(callOf(pending)),
  }))
  return { ...outcome, approvals }
}

function callOf({ callId, name, arguments: args }: PendingApproval): ToolCall {
  return { id: callId, type: 'function', function: { name, arguments: args } }
}

/** A signal that was aborted before the run began will not tell so again. */
function withCancellation(from: StartingPoint, signals: readonly AbortSignal[]): StartingPoint {
  const aborted = signals.find((signal) => signal.aborted && !(signal.reason instanceof Interruption))
  if (aborted === undefined) return from
  return { ...from, happened: [{ type: 'cancelled', ...cancellationOf(aborted) }] }
}

/** Why a signal was aborted; nothing where nobody gave a reason. */
function cancellationOf({ reason }: AbortSignal): Cancellation {
  if (reason instanceof DOMException && reason.name === 'AbortError') return {}
  if (reason instanceof DOMException && reason.name === 'TimeoutError') return { timedOut: true }
  return reason === undefined ? {} : { message: messageOf(reason) }
}
