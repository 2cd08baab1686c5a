import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { ZodType } from 'zod'
import { AgentMemory } from './agentMemory.ts'
import { checkDecisions } from './checkDecisions.ts'
import {
  checkedDecisions,
  checkedFork,
  checkedInput,
  checkedMessage,
  checkedOptions,
  checkedRunId,
  checkWhenBusy,
  placesFor,
  requirePrices,
} from './checks.ts'
import { reportingFormat, reportingLimits } from './customLimits.ts'
import { environment } from './environment.ts'
import { JournalError, LoopchartError, MisuseError, messageOf } from './errors.ts'
import { withinGrace } from './grace.ts'
import { inspectIfAsked } from './inspectSwitch.ts'
import type { Journal, JournalEntry, RunEvent } from './journal/entry.ts'
import { type AgentFingerprint, fingerprintOf, recordedBy } from './journal/fingerprint.ts'
import { type AgentMachine, createAgentMachine } from './machines/agentMachine.ts'
import type { AgentInput, RunInput } from './machines/context.ts'
import type { ToolAnswer } from './machines/effects.ts'
import type { CustomLimit } from './machines/limits/customLimit.ts'
import { type Limits, refuseNull } from './machines/limits/limits.ts'
import type { AbortReason, Outcome } from './machines/outcome.ts'
import { policyOf } from './machines/policy.ts'
import type { Prices } from './machines/prices.ts'
import type { Decision } from './machines/reducers.ts'
import type { ResultFormat } from './machines/resultFormat.ts'
import { type RunSettings, resolveSettings } from './machines/settings.ts'
import type { LimitTexts } from './machines/texts/limitTexts.ts'
import { defaultMemory } from './memory/defaultMemory.ts'
import type { Memory } from './memory/memory.ts'
import { tokenCounter } from './memory/tokens/countTokens.ts'
import type { TokenCounter } from './memory/tokens/tokenCounter.ts'
import type { ReadResult } from './messages/readJson.ts'
import { noUsage } from './messages/reply.ts'
import type { AssistantMessage } from './messages/types.ts'
import { fixedReply } from './models/fixedReply.ts'
import type { Model } from './models/model.ts'
import { outputFormat } from './outputFormat.ts'
import { claimRun, claimRunInTurn } from './runtime/claimRun.ts'
import { type InDoubtPolicy, settleDoubts } from './runtime/doubts.ts'
import type { Opening, StartingPoint } from './runtime/driver.ts'
import type { AgentEvent } from './runtime/events.ts'
import {
  type ExecutionOptions,
  execute,
  type PreparedRun,
  type Run,
  type RunUnderWay,
  watch,
} from './runtime/execute.ts'
import { Fold } from './runtime/fold.ts'
import { forkJournal } from './runtime/forkJournal.ts'
import { type Lease, Leases } from './runtime/leases.ts'
import { provideServices } from './runtime/liveMachine.ts'
import { type Effect, PureMachine } from './runtime/pureMachine.ts'
import { type RecoveredRun, recoverRuns } from './runtime/recover.ts'
import { type Replay, replay } from './runtime/replay.ts'
import { Shutdown } from './runtime/shutdown.ts'
import { takeUp } from './runtime/takeUp.ts'
import { Watchers } from './runtime/watchers.ts'
import { servicesOf } from './services.ts'
import { openSession, type Session, type SessionAgent, type SessionOptions } from './sessions/session.ts'
import { memorySessions, type SessionStore } from './sessions/sessionStore.ts'
import { timeoutMs } from './timeouts.ts'
import { Slots } from './tools/slots.ts'
import type { Tool } from './tools/tool.ts'
import { Toolbox, type ToolsOption } from './tools/toolbox.ts'

/** Milliseconds after which a model call is given up, unless the agent says otherwise. */
const DEFAULT_MODEL_TIMEOUT_MS = 600_000

/** Milliseconds for which a run is believed to be alive without a sign of it, unless the agent says otherwise. */
const DEFAULT_LEASE_MS = 30_000

/** How many runs are recovered at once, unless it is said otherwise. */
const DEFAULT_RECOVERIES = 4

/** Milliseconds for which an agent waits when it is closed, unless it is said otherwise. */
const DEFAULT_CLOSE_MS = 10_000

/** Names this process in the journals of the runs that it takes up. */
const PROCESS = `${hostname()}/${process.pid}`

export interface AgentOptions<Output = string> {
  /** The service that calls a language model, such as `openaiChat('gpt-4.1')`. */
  readonly model: Model
  /**
   * What the model may call: a list, which `agent.tools` can change for later runs, or a function that decides for each
   * step. Default: nothing.
   */
  readonly tools?: ToolsOption
  /** How many tool calls run at once, over all runs of the agent. Default: Infinity. */
  readonly toolConcurrency?: number
  /**
   * Whether calls that need no approval run while others of their reply wait for a person. Default: false, nothing of a
   * reply runs before every call that needs it is decided.
   */
  readonly runApprovedFirst?: boolean
  /**
   * What of an event a watcher may see: takes secrets out before anybody is shown it. Give back the event, or a
   * changed copy of it, or nothing where it is not to be shown. Where it throws, the event is not shown. What was said
   * stands in several events, which docs/events.md lists. Default: everything.
   */
  readonly redact?: (event: AgentEvent) => AgentEvent | undefined
  /** The system message, the same in every request. Default: the one that a given history begins with, or none. */
  readonly instructions?: string
  /**
   * The form of the answer, as a zod object: `outcome.output` is then what the schema makes of it. The provider is held
   * to the schema where it can be; an answer that does not fit is asked for again, within `limits.malformed`.
   * Default: text.
   */
  readonly output?: ZodType<Output>
  /**
   * What of the transcript the model is shown. Default: `defaultMemory()`, all of it as long as it fits into the model's
   * context window.
   */
  readonly memory?: Memory
  /** Counts tokens where a memory has to know them. Default: as the model does, by its id; see `tokenCounter`. */
  readonly tokenCounter?: TokenCounter
  /** Bounds of every run; those left out keep their defaults. A run can have others: `agent.run({ messages, limits })`. */
  readonly limits?: Partial<Limits>
  /** Limits of your own, by name: pure functions of what has happened in the run. One that throws is left out. */
  readonly customLimits?: Readonly<Record<string, CustomLimit>>
  /**
   * What models cost, by their id, per million tokens: `{ 'gpt-4.1': { input: 2, output: 8 } }`. `outcome.cost` is then
   * what a run cost, and `limits.cost` bounds it. Default: nothing is known of that.
   */
  readonly prices?: Prices
  /** What the model is told by limits. Default: `limitTexts.en`; `limitTexts.zh` is Chinese. */
  readonly texts?: LimitTexts
  /**
   * What the model is shown of each tool call that is settled, be it a result or an error: a pure function. Default: the
   * text alone. `resultEnvelope` makes `{"success": true, "result": …}` of it.
   */
  readonly resultFormat?: ResultFormat
  /**
   * How often a model call is tried again after an error that may pass. Default: 2, or as often as `modelRetryDelaysMs`
   * has waits.
   */
  readonly modelRetries?: number
  /**
   * Milliseconds to wait before each of these attempts, such as `[1000, 2000]`; the last one holds for all further ones.
   * What a provider asks for (`Retry-After`) goes before, for at most 30 s. Default: exponential back-off with jitter, from
   * at most 500 ms up to 30 s.
   */
  readonly modelRetryDelaysMs?: readonly number[]
  /** What a text means whose finish reason announces tool calls that are not there. Default: `nudge`, once. */
  readonly missingCalls?: RunSettings['missingCalls']
  /**
   * Milliseconds after which a model call is given up, whatever its service does; a bound of last resort, above the
   * timeouts of the service itself. Default: 600000, ten minutes.
   */
  readonly modelTimeoutMs?: number
  /** Keeps what happens, so that a run can be resumed. Default: nothing is kept. */
  readonly journal?: Journal
  /**
   * Names the agent in its journal. Agents that share a journal need names of their own, so that `recover` takes up
   * nobody else's runs. Default: none.
   */
  readonly name?: string
  /**
   * Milliseconds for which other processes believe a run of this one to be alive without a sign of it; there is one every
   * third of that. A run whose process died is recovered after that at the latest. Default: 30000.
   */
  readonly leaseMs?: number
  /** Keeps the conversations of `agent.session(…)`. Default: in this process. */
  readonly sessions?: SessionStore
}

export interface RunOptions {
  /** Aborts the run: it settles at once as `aborted` with reason `cancelled`. */
  readonly signal?: AbortSignal
  /** Called with everything that can be seen of the run. What it throws becomes a process warning. */
  readonly onEvent?: (event: AgentEvent) => unknown
  /** What the tools of this run are given beside their arguments: a user, a tenant, a connection. */
  readonly context?: unknown
  /** Names the run in its journal and events. Default: a random UUID. */
  readonly runId?: string
}

export interface ResumeOptions extends Omit<RunOptions, 'runId'> {
  /** What a person decided about calls that wait for approval. */
  readonly decisions?: readonly Decision[]
  /**
   * Whether an agent that would not have taken the recorded steps goes on from what they came to, instead of refusing: with
   * the same settings, its open calls answered, its memory fresh. Where the steps fit, nothing changes. Default: false.
   */
  readonly migrate?: boolean
  /**
   * What becomes of a tool call that had begun when the process died, and whose tool is not idempotent: the model is told
   * that its outcome is unknown (`tell`), or a person is asked (`ask`): the run then waits, with approvals that are marked
   * `inDoubt`. Default: `tell`.
   */
  readonly inDoubt?: InDoubtPolicy
  /**
   * Whether the run is taken away from a process that is believed to be at work on it, which then cannot write to it any
   * more. Otherwise that is refused with `run_active`. Default: true.
   */
  readonly takeOver?: boolean
  /**
   * What happens where the run is under way in this process: that is refused with `run_active`, or its end is awaited, and
   * the run taken up as it stands then. Default: `refuse`.
   */
  readonly whenBusy?: 'queue' | 'refuse'
}

export interface RecoverOptions<Output = string>
  extends Pick<ResumeOptions, 'signal' | 'context' | 'onEvent' | 'migrate' | 'inDoubt'> {
  /** How many runs go on at once. Default: 4. */
  readonly concurrency?: number
  /** Called with what became of each run, as it ends. What it throws becomes a process warning. */
  readonly onOutcome?: (run: RecoveredRun<Output>) => unknown
}

export interface ForkOptions extends RunOptions {
  /**
   * The step in which the fork parts from the run: what was before its model call is shared. The first step is 1; one more
   * than the last one where other limits let the run go on.
   */
  readonly at: number
  /** What the model answers in that step, instead of being asked: text, or a message with tool calls. */
  readonly reply?: string | AssistantMessage
  /** Other results of calls of that step, by call id. The model's reply and all other results are shared then. */
  readonly results?: Readonly<Record<string, string | ToolAnswer>>
  /** Bounds that are to be others. */
  readonly limits?: Partial<Limits>
  /** Names the fork. Default: a random UUID. */
  readonly runId?: string
}

export interface CloseOptions {
  /** Milliseconds after which what is still under way is given up. Default: 10000. */
  readonly timeoutMs?: number
}

export interface Closing {
  /** Runs that had not ended and are whole in the journal: `agent.recover` of another process goes on with them. */
  readonly interrupted: readonly string[]
}

export interface Agent<Output = string> {
  /**
   * Runs the loop to its end.
   *
   * @param input A question, a conversation that ends with one, or either with other limits for this run.
   * @returns How the run ended. Rejects with a `MisuseError` for an empty input or a run id that exists, and for
   * nothing that happens at run time.
   */
  run(input: AgentInput, options?: RunOptions): Promise<Outcome<Output>>
  /**
   * Runs the loop and shows what happens, model text piece by piece. Events are kept until they are read. Leaving
   * the iteration early aborts the run; reading nothing and awaiting `outcome` is fine.
   *
   * @throws MisuseError for an empty input.
   */
  stream(input: AgentInput, options?: RunOptions): Run<Output>
  /**
   * Goes on with a run from its journal. What was recorded is not done again. A tool call that had begun and did not
   * report runs again only if its tool is idempotent; of any other the model is told that the outcome is unknown.
   *
   * @returns How the run ended. Rejects where the run cannot be taken up: it is not in the journal (`run_not_found`), the
   * journal cannot be read (`journal_error`, or a `JournalError` that names the entry), it was recorded by an agent that
   * worked otherwise (`journal_mismatch`), or somebody else takes it up at the same time (`run_active`).
   */
  resume(runId: string, options?: ResumeOptions): Promise<Outcome<Output>>
  /**
   * Takes up the runs of this agent in its journal that were left running: their process died, or was closed. Runs that
   * another process is at work on are left alone. For the start of a process.
   *
   * @returns What became of each, once all have ended or wait. Rejects for no single run, only where the journal cannot
   * list its runs (`journal_error`), there is none, or the agent was closed.
   */
  recover(options?: RecoverOptions<Output>): Promise<readonly RecoveredRun<Output>[]>
  /**
   * Tells a run again from the journal: every state, transition, guard and message. Nothing is called or changed.
   *
   * @returns The replay. Rejects as `resume` does where the journal cannot be read.
   */
  replay(runId: string): Promise<Replay>
  /**
   * Begins a run that shares the first steps of another and goes on otherwise. It has a journal of its own, into which
   * those steps are copied: nothing of them is done again.
   *
   * @returns How the fork ended. Rejects with `invalid_fork` for a step or a call that there is not, `run_exists`, and as
   * `resume` does.
   */
  fork(runId: string, options: ForkOptions): Promise<Outcome<Output>>
  /**
   * Prepares for the end of the process. No run begins any more (`agent_closed`). A run that is kept in a journal finishes
   * its step and stops there; one that is not goes on to its end. What is not done in time is given up. The runs
   * that were stopped so end as aborted with the reason `interrupted`, and can be resumed.
   *
   * @returns Resolves once nothing is under way, and names the runs that can be resumed.
   */
  close(options?: CloseOptions): Promise<Closing>
  /**
   * A conversation over many runs: what was said, and what the memory made of it, is carried on. One that does not exist
   * yet begins with its first run.
   *
   * @throws MisuseError `invalid_session` for an id that is no text or empty.
   */
  session(id: string, options?: SessionOptions): Session<Output>
  /**
   * Shows everything of every run of the agent that begins or goes on from now on, whoever started it: runs, resumed and
   * recovered ones, forks, turns of sessions. After `redact`. A watcher that throws costs a process warning, not the run.
   *
   * @returns Stops watching.
   */
  watch(watcher: (event: AgentEvent) => unknown): () => void
  /** The runs that are under way now, so that they can be told something or cancelled. */
  activeRuns(): readonly ActiveRun[]
  /** The loop with this agent's model, tools and memory provided: an ordinary XState machine. */
  readonly machine: AgentMachine
  /** The tools for runs that start from now on; a run keeps those that it started with. */
  readonly tools: AgentTools
  /**
   * What the agent was made with, and the tools that it has now. For an agent that differs in one thing:
   * `createAgent({ ...agent.options, model })`.
   */
  readonly options: AgentOptions<Output>
}

/** A run that is under way in this process. */
export type ActiveRun = { readonly runId: string } & Pick<Run, 'send' | 'abort'>

export interface AgentTools {
  readonly names: readonly string[]
  /** @throws MisuseError `duplicate_tool` where there is one of its name. */
  add(tool: Tool): void
  /** Whether there was such a tool. */
  remove(name: string): boolean
}

/**
 * Makes an agent. It holds configuration only, so one agent serves any number of concurrent runs.
 *
 * @throws MisuseError for options that cannot work.
 */
export function createAgent<Output = string>(options: AgentOptions<Output>): Agent<Output> {
  const { model, instructions, memory: remembers = defaultMemory(), journal } = checkedOptions(options)
  refuseNull(options.limits)
  const settings = resolveSettings(options)
  requirePrices(settings, model)
  const toolbox = new Toolbox(options.tools ?? [])
  const slots = new Slots(placesFor('toolConcurrency', options.toolConcurrency ?? Number.POSITIVE_INFINITY))
  const output = options.output && outputFormat(options.output)
  const modelTimeoutMs = timeoutMs('modelTimeoutMs', options.modelTimeoutMs ?? DEFAULT_MODEL_TIMEOUT_MS)
  const memory = new AgentMemory({
    memory: remembers,
    model,
    tokenCounter: options.tokenCounter ?? tokenCounter(model.id),
    instructions,
    outputInstructions: output?.instructions,
    tools: () => toolbox.specs,
    timeoutMs: modelTimeoutMs,
  })
  const services = servicesOf({ model, memory, output, modelTimeoutMs, slots })
  const policy = policyOf({
    ...options,
    customLimits: reportingLimits(options.customLimits),
    resultFormat: reportingFormat(options.resultFormat),
  })
  const machine = provideServices(createAgentMachine(settings, policy), services, { memory, toolbox })
  const pure = new PureMachine(machine)
  const leaseMs = timeoutMs('leaseMs', options.leaseMs ?? DEFAULT_LEASE_MS)
  const leases = journal && new Leases(journal, { owner: `${PROCESS}/${randomUUID()}`, ttlMs: leaseMs })
  const shutdown = new Shutdown()
  const watchers = new Watchers()
  const active = new Set<RunUnderWay>()
  const sessionAgent: SessionAgent<Output> = {
    store: options.sessions ?? memorySessions(),
    hasJournal: journal !== undefined,
    checkedInput,
    run: (input, runOptions) => launch(input, runOptions.runId ?? randomUUID(), executionOptions(runOptions)),
    resume,
    watch(runId, carryOut, runOptions) {
      return watch(
        runId,
        (execution) => carryOut((input) => launch(input, runId, execution), anyOf(execution.signals)),
        executionOptions(runOptions),
        checkedMessage,
      )
    },
  }

  const agent: Agent<Output> = {
    machine,
    tools: toolbox,
    get options() {
      return { ...options, tools: toolbox.given }
    },
    async run(input, runOptions = {}) {
      const runId = checkedRunId(runOptions.runId ?? randomUUID())
      return launch(checkedInput(input), runId, executionOptions(runOptions))
    },
    stream(input, runOptions = {}) {
      const runId = checkedRunId(runOptions.runId ?? randomUUID())
      const runInput = checkedInput(input)
      return watch(
        runId,
        (execution) => launch(runInput, runId, execution),
        executionOptions(runOptions),
        checkedMessage,
      )
    },
    resume,
    recover,
    async replay(runId) {
      return replay(await recorded(checkedRunId(runId), 'agent.replay'), { runId, machine })
    },
    fork,
    async close({ timeoutMs: patience = DEFAULT_CLOSE_MS } = {}) {
      await shutdown.close(timeoutMs('timeoutMs', patience))
      return { interrupted: shutdown.interrupted }
    },
    session: (id, sessionOptions) => openSession(sessionAgent, id, sessionOptions),
    watch: (watcher) => watchers.add(watcher),
    activeRuns: () =>
      [...active].map(({ runId, send, abort }) => ({
        runId,
        send: (message) => send(checkedMessage(message)),
        abort,
      })),
  }
  inspectIfAsked(agent)
  return agent

  async function resume(runId: string, resumeOptions: ResumeOptions = {}): Promise<Outcome<Output>> {
    checkedRunId(runId)
    checkWhenBusy(resumeOptions.whenBusy)
    const takingUp = { ...resumeOptions, decisions: checkedDecisions(resumeOptions.decisions ?? []) }
    return takeUpRun(runId, takingUp, executionOptions(resumeOptions))
  }

  async function recover({
    concurrency = DEFAULT_RECOVERIES,
    onOutcome,
    ...resumeOptions
  }: RecoverOptions<Output> = {}): Promise<readonly RecoveredRun<Output>[]> {
    const kept = requireJournal('agent.recover')
    const takingUp = { ...resumeOptions, decisions: [], takeOver: false, isRecovery: true }
    const closed = new AbortController()
    const unlisten = shutdown.listen(() => closed.abort())
    try {
      return await recoverRuns<Output>(kept, {
        concurrency: placesFor('concurrency', concurrency),
        signal: anyOf([resumeOptions.signal, closed.signal]),
        leaseMs,
        onOutcome,
        resume: (runId) => takeUpRun(runId, takingUp, executionOptions(resumeOptions)),
      })
    } finally {
      unlisten()
    }
  }

  async function fork(source: string, forkOptions: ForkOptions): Promise<Outcome<Output>> {
    const { at, reply, results, limits, runId = randomUUID(), ...runOptions } = checkedFork(forkOptions)
    checkedRunId(source)
    checkedRunId(runId)
    const kept = requireJournal('agent.fork')
    const begin: Prepare<Output> = async (execution, hold) => {
      const { entries, unstarted } = forkJournal(pure, await recorded(source, 'agent.fork', execution), {
        runId: source,
        agent: fingerprint(),
        at,
        results,
        limits,
      })
      const answer = reply === undefined ? [] : [await answerWith(reply, unstarted, runId)]
      // Before there is anything that somebody else could recover.
      await hold()
      if (!(await isAppended(kept, runId, [...entries, ...answer], stopOf(execution)))) throw runExists(runId)
      return recordedRun(runId, { decisions: [] }, execution)
    }
    return drive(runId, begin, executionOptions(runOptions))
  }

  /** What the model call of a fork settles with that is answered beforehand. */
  async function answerWith(
    reply: string | AssistantMessage,
    unstarted: readonly Effect[],
    runId: string,
  ): Promise<JournalEntry> {
    const call = unstarted.find((effect) => effect.kind === 'callModel') as ModelEffect
    const answering = servicesOf({
      model: fixedReply(model.id, reply),
      memory,
      output,
      modelTimeoutMs,
      slots,
    })
    const turn = await answering.callModel(call.input, {
      signal: new AbortController().signal,
      runId,
      context: undefined,
      tools: toolbox.forRun(),
      elapsedMs: () => 0,
      watched: false,
      report: () => {},
    })
    const answer = { ...turn, reply: { ...turn.reply, usage: noUsage } }
    return {
      type: 'event',
      at: environment().wallNow(),
      event: { type: 'settled', place: call.place, output: answer },
    }
  }

  /** Begins a run and carries it out. */
  function launch(
    input: RunInput,
    runId: string,
    execution: ExecutionOptions<Output>,
  ): Promise<Outcome<Output>> {
    const begin: Prepare<Output> = ({ onEvent }, hold) => {
      void hold()
      return freshRun(input, runId, onEvent !== undefined)
    }
    return drive(runId, begin, execution)
  }

  /** Goes on with a run from its journal. */
  function takeUpRun(
    runId: string,
    { takeOver = true, whenBusy, ...takingUp }: TakingUp & Pick<ResumeOptions, 'takeOver' | 'whenBusy'>,
    execution: ExecutionOptions<Output>,
  ): Promise<Outcome<Output>> {
    const begin: Prepare<Output> = async (_execution, hold) => {
      const { isRecovery = false } = takingUp
      if (isRecovery) requireOwn(runId, await recorded(runId, 'agent.recover', execution))
      if (!takeOver && !(await hold())) throw runActive(runId)
      const run = await recordedRun(runId, takingUp, execution)
      const { opening } = run.from
      if (!takeOver || opening === undefined) return run
      // Who is refused has taken nothing from whoever was first.
      return { ...run, from: { ...run.from, opening: { ...opening, opened: () => void hold(true) } } }
    }
    return drive(runId, begin, execution, whenBusy)
  }

  /** Prepares and executes a run, while nobody else in this process does so with the same journal and id. */
  async function drive(
    id: string,
    prepare: Prepare<Output>,
    execution: ExecutionOptions<Output>,
    whenBusy: ResumeOptions['whenBusy'] = 'refuse',
  ): Promise<Outcome<Output>> {
    const leave = shutdown.enter()
    let unclaim: (() => void) | undefined
    let lease: Lease | undefined
    try {
      if (journal !== undefined) {
        const isQueued = whenBusy === 'queue'
        unclaim = isQueued ? await claimRunInTurn(journal, id, stopOf(execution)) : claimRun(journal, id)
      }
      const run = await prepare(execution, async (takeOver) => {
        lease = leases?.take(id, takeOver)
        return (await withinGrace(lease?.isHeld, stopOf(execution))) !== false
      })
      const outcome = await execute(run, execution)
      if (journal !== undefined && endedAs(outcome, 'interrupted')) shutdown.addInterrupted(id)
      if (endedAs(outcome, 'journal_error')) lease?.abandon()
      return outcome
    } finally {
      unclaim?.()
      if (lease === undefined) leave()
      else void lease.release().then(leave)
    }
  }

  function executionOptions({ signal, onEvent, context }: RunOptions): ExecutionOptions<Output> {
    return {
      services,
      journal,
      signals: [signal],
      onEvent: watchers.with(onEvent),
      context,
      tools: toolbox.forRun(),
      shutdown,
      active,
      redact: options.redact,
      read: output?.read ?? readText,
    }
  }

  async function freshRun(input: RunInput, id: string, watched: boolean): Promise<PreparedRun> {
    refuseNull(input.limits)
    const own = resolveSettings(input, settings)
    requirePrices(own, model)
    const complete: RunInput = {
      messages: input.messages,
      ...(input.memory === undefined ? {} : { memory: input.memory }),
      ...own,
    }
    const at = environment().wallNow()
    const fold = new Fold(pure, complete, at, watched)
    const opening: Opening = {
      entry: { type: 'started', version: 1, at, input: complete, agent: fingerprint() },
      refusal: () => runExists(id),
    }
    return { id, fold, recorded: 0, from: { opening }, resumed: false }
  }

  function fingerprint(): AgentFingerprint {
    return fingerprintOf({ name: options.name, model, instructions, tools: toolbox.specs })
  }

  async function recordedRun(
    id: string,
    { decisions, migrate = false, inDoubt: policy = 'tell', isRecovery = false }: TakingUp,
    execution: ExecutionOptions<Output>,
  ): Promise<PreparedRun> {
    const entries = await recorded(id, 'agent.resume', execution)
    const isTold = entries.at(-1)?.type === 'ended' || entries.at(-1)?.type === 'waiting'
    if (isRecovery && isTold) throw alreadyTold(id)
    const { onEvent, tools } = execution
    const watched = onEvent !== undefined
    const takenUp = takeUp(pure, entries, { runId: id, watched, agent: fingerprint(), migrate, machine })
    const { fold, migration } = takenUp
    await checkDecisions(fold.snapshot, decisions, tools)
    const { told, asked } = settleDoubts(takenUp.inDoubt, {
      calls: fold.snapshot.context.calls,
      tools,
      decisions,
      policy,
    })
    const happened = [...told, ...decisions.map((decision): RunEvent => ({ type: 'decided', decision }))]
    const from: StartingPoint = { happened, asked }
    const isAsked = (effect: Effect): boolean => asked.some((doubt) => doubt.effect === effect)
    const toDo = [...fold.pending.values()].filter(
      (effect) => effect.kind !== 'waitUntil' && !isAsked(effect),
    )
    const hasEnded = fold.snapshot.status !== 'active'
    const isIdle = isTold && (hasEnded || (happened.length === 0 && toDo.length === 0))
    return {
      id,
      fold,
      recorded: entries.length,
      from: isIdle ? from : { ...from, opening: goingOn(id, migration) },
      resumed: true,
    }
  }

  /** Those that a process has begun under another name are not this agent's to recover. */
  function requireOwn(id: string, entries: readonly JournalEntry[]): void {
    if (recordedBy(entries)?.name !== options.name) throw otherAgent(id)
  }

  /** Aborted when a run is to stop: who waits for a store then waits no longer than its grace. */
  function stopOf({ signals }: Pick<ExecutionOptions<Output>, 'signals'>): AbortSignal {
    return anyOf([...signals, shutdown.over])
  }

  async function recorded(
    id: string,
    what: string,
    execution: Pick<ExecutionOptions<Output>, 'signals'> = { signals: [] },
  ): Promise<readonly JournalEntry[]> {
    const entries = await loaded(requireJournal(what), id, stopOf(execution))
    if (entries !== undefined) return entries
    throw new LoopchartError('run_not_found', `There is no run with the id "${id}" in the journal.`)
  }

  function requireJournal(what: string): Journal {
    if (journal !== undefined) return journal
    throw new MisuseError(
      'no_journal',
      `${what} needs createAgent({ journal }), the one that the runs were kept in.`,
    )
  }
}

/** How a run is taken up. */
interface TakingUp extends Pick<ResumeOptions, 'migrate' | 'inDoubt'> {
  readonly decisions: readonly Decision[]
  /** Whether it is only of interest as one that was left running by an agent of this name. */
  readonly isRecovery?: boolean
}

/** Prepares a run; `hold` takes the lease on it, and resolves with whether it was had. */
type Prepare<Output> = (
  execution: ExecutionOptions<Output>,
  hold: (takeOver?: boolean) => Promise<boolean>,
) => Promise<PreparedRun>

type ModelEffect = Extract<Effect, { kind: 'callModel' }>

function endedAs(outcome: Outcome<unknown>, reason: AbortReason): boolean {
  return outcome.status === 'aborted' && outcome.reason === reason
}

function runExists(id: string): MisuseError {
  return new MisuseError(
    'run_exists',
    `A run with the id "${id}" is in the journal. Use agent.resume("${id}").`,
  )
}

function runActive(id: string): LoopchartError {
  return new LoopchartError('run_active', `Another process is believed to be at work on the run "${id}".`)
}

function otherAgent(id: string): LoopchartError {
  return new LoopchartError('other_agent', `The run "${id}" is one of another agent.`)
}

function alreadyTold(id: string): LoopchartError {
  return new LoopchartError(
    'run_settled',
    `The run "${id}" has ended, or waits for a person: others told of it.`,
  )
}

/** Tells the journal that the run goes on here, and whoever had it before that it does not go on there. */
function goingOn(id: string, migration: JournalEntry | undefined): Opening {
  return {
    entry: migration ?? { type: 'resumed', at: environment().wallNow(), by: PROCESS },
    refusal: () =>
      new LoopchartError(
        'run_active',
        `The run "${id}" was taken up by somebody else at the same time, and goes on there.`,
      ),
  }
}

/** Aborted with the first of them. */
function anyOf(signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  return AbortSignal.any(signals.filter((signal) => signal !== undefined))
}

/** @throws LoopchartError `journal_error` where the store fails, or does not say whether the entries were added. */
async function isAppended(
  journal: Journal,
  id: string,
  entries: readonly JournalEntry[],
  stop: AbortSignal,
): Promise<boolean> {
  try {
    const isAdded: unknown = await withinGrace(journal.append(id, entries, 0), stop)
    if (typeof isAdded === 'boolean') return isAdded
    throw new TypeError('its append must return whether the entries were added')
  } catch (cause) {
    throw new LoopchartError(
      'journal_error',
      `The journal of run "${id}" could not be written: ${messageOf(cause)}`,
      { cause },
    )
  }
}

async function loaded(
  journal: Journal,
  id: string,
  stop: AbortSignal,
): Promise<readonly JournalEntry[] | undefined> {
  try {
    const entries: unknown = await withinGrace(journal.load(id), stop)
    if (entries === undefined || entries === null) return undefined
    if (Array.isArray(entries) && entries.every((entry) => typeof entry?.type === 'string')) return entries
    throw new TypeError('its load must return the entries of the run, or undefined')
  } catch (cause) {
    if (cause instanceof JournalError) throw cause
    throw new LoopchartError(
      'journal_error',
      `The journal of run "${id}" could not be read: ${messageOf(cause)}`,
      { cause },
    )
  }
}

/** Without an `output` schema, `Output` is text. */
function readText<Output>(text: string): ReadResult<Output> {
  return { ok: true, value: text as Output }
}
