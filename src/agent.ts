import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { ZodType } from 'zod'
import { AgentMemory } from './agentMemory.ts'
import { checkDecisions } from './checkDecisions.ts'
import {
  checkedDecisions,
  checkedInput,
  checkedMessage,
  checkedOptions,
  placesFor,
  requirePrices,
} from './checks.ts'
import { reportingLimits } from './customLimits.ts'
import { JournalError, LoopchartError, MisuseError, messageOf } from './errors.ts'
import type { Journal, JournalEntry, RunEvent } from './journal/entry.ts'
import { type AgentFingerprint, fingerprintOf } from './journal/fingerprint.ts'
import { type AgentMachine, createAgentMachine } from './machines/agentMachine.ts'
import type { AgentInput, RunInput } from './machines/context.ts'
import type { CustomLimit } from './machines/limits/customLimit.ts'
import { type Limits, refuseNull } from './machines/limits/limits.ts'
import type { Outcome } from './machines/outcome.ts'
import { policyOf } from './machines/policy.ts'
import type { Prices } from './machines/prices.ts'
import type { Decision } from './machines/reducers.ts'
import { type RunSettings, resolveSettings } from './machines/settings.ts'
import type { LimitTexts } from './machines/texts/limitTexts.ts'
import { defaultMemory } from './memory/defaultMemory.ts'
import type { Memory } from './memory/memory.ts'
import { tokenCounter } from './memory/tokens/countTokens.ts'
import type { TokenCounter } from './memory/tokens/tokenCounter.ts'
import type { ReadResult } from './messages/readJson.ts'
import { toolError } from './messages/toolTexts.ts'
import type { Model } from './models/model.ts'
import { outputFormat } from './outputFormat.ts'
import { claimRun } from './runtime/claimRun.ts'
import type { Opening, StartingPoint } from './runtime/driver.ts'
import type { AgentEvent } from './runtime/events.ts'
import { type ExecutionOptions, execute, type PreparedRun, type Run, watch } from './runtime/execute.ts'
import { Fold, foldJournal } from './runtime/fold.ts'
import { provideServices } from './runtime/liveMachine.ts'
import { type Effect, PureMachine } from './runtime/pureMachine.ts'
import { servicesOf } from './services.ts'
import { openSession, type Session, type SessionAgent, type SessionOptions } from './sessions/session.ts'
import { memorySessions, type SessionStore } from './sessions/sessionStore.ts'
import { timeoutMs } from './timeouts.ts'
import { Slots } from './tools/slots.ts'
import type { Tool } from './tools/tool.ts'
import { type RunTools, Toolbox, type ToolsOption } from './tools/toolbox.ts'

/** Milliseconds after which a model call is given up, unless the agent says otherwise. */
const DEFAULT_MODEL_TIMEOUT_MS = 600_000

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
   * changed copy of it, or nothing where it is not to be shown. Where it throws, the event is not shown. Default:
   * everything.
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
  /** How often a model call is tried again after an error that may pass. Default: 2. */
  readonly modelRetries?: number
  /** What a text means whose finish reason announces tool calls that are not there. Default: `nudge`, once. */
  readonly missingCalls?: RunSettings['missingCalls']
  /**
   * Milliseconds after which a model call is given up, whatever its service does; a bound of last resort, above the
   * timeouts of the service itself. Default: 600000, ten minutes.
   */
  readonly modelTimeoutMs?: number
  /** Keeps what happens, so that a run can be resumed. Default: nothing is kept. */
  readonly journal?: Journal
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
   * A conversation over many runs: what was said, and what the memory made of it, is carried on. One that does not exist
   * yet begins with its first run.
   *
   * @throws MisuseError `invalid_session` for an id that is no text or empty.
   */
  session(id: string, options?: SessionOptions): Session<Output>
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
  const policy = policyOf({ ...options, customLimits: reportingLimits(options.customLimits) })
  const machine = provideServices(createAgentMachine(settings, policy), services, { memory, toolbox })
  const pure = new PureMachine(machine)
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

  return {
    machine,
    tools: toolbox,
    get options() {
      return { ...options, tools: toolbox.given }
    },
    async run(input, runOptions = {}) {
      const { runId = randomUUID() } = runOptions
      return launch(checkedInput(input), runId, executionOptions(runOptions))
    },
    stream(input, runOptions = {}) {
      const { runId = randomUUID() } = runOptions
      const runInput = checkedInput(input)
      return watch(
        runId,
        (execution) => launch(runInput, runId, execution),
        executionOptions(runOptions),
        checkedMessage,
      )
    },
    resume,
    session: (id, sessionOptions) => openSession(sessionAgent, id, sessionOptions),
  }

  async function resume(runId: string, resumeOptions: ResumeOptions = {}): Promise<Outcome<Output>> {
    const decisions = checkedDecisions(resumeOptions.decisions ?? [])
    return drive(
      runId,
      (execution) => recordedRun(runId, decisions, execution),
      executionOptions(resumeOptions),
    )
  }

  /** Begins a run and carries it out. */
  function launch(
    input: RunInput,
    runId: string,
    execution: ExecutionOptions<Output>,
  ): Promise<Outcome<Output>> {
    return drive(runId, ({ onEvent }) => freshRun(input, runId, onEvent !== undefined), execution)
  }

  /** Prepares and executes a run, while nobody else in this process does so with the same journal and id. */
  async function drive(
    id: string,
    prepare: (execution: ExecutionOptions<Output>) => Promise<PreparedRun>,
    execution: ExecutionOptions<Output>,
  ): Promise<Outcome<Output>> {
    const release = journal && claimRun(journal, id)
    try {
      return await execute(await prepare(execution), execution)
    } finally {
      release?.()
    }
  }

  function executionOptions({ signal, onEvent, context }: RunOptions): ExecutionOptions<Output> {
    return {
      services,
      journal,
      signals: [signal],
      onEvent,
      context,
      tools: toolbox.forRun(),
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
    const at = Date.now()
    const fold = new Fold(pure, complete, at, watched)
    const opening: Opening = {
      entry: { type: 'started', version: 1, at, input: complete, agent: fingerprint() },
      refusal: () =>
        new MisuseError(
          'run_exists',
          `A run with the id "${id}" is in the journal. Use agent.resume("${id}").`,
        ),
    }
    return { id, fold, recorded: 0, from: { effects: [...fold.pending.values()], opening }, resumed: false }
  }

  function fingerprint(): AgentFingerprint {
    return fingerprintOf({ model, instructions, tools: toolbox.specs })
  }

  async function recordedRun(
    id: string,
    decisions: readonly Decision[],
    { onEvent, tools }: ExecutionOptions<Output>,
  ): Promise<PreparedRun> {
    if (journal === undefined) {
      throw new MisuseError(
        'no_journal',
        'agent.resume needs createAgent({ journal }), the one that the run was kept in.',
      )
    }
    const entries = await loaded(journal, id)
    if (entries === undefined || entries === null) {
      throw new LoopchartError('run_not_found', `There is no run with the id "${id}" in the journal.`)
    }
    const { fold, unstarted, inDoubt } = foldJournal(pure, entries, {
      runId: id,
      watched: onEvent !== undefined,
    })
    await checkDecisions(fold.snapshot, decisions, tools)
    const isIdempotent = (effect: Effect): boolean => toolOf(effect, tools)?.idempotent === true
    const again = inDoubt.filter(isIdempotent)
    const unknown = inDoubt.filter((effect) => !isIdempotent(effect))
    const happened = [
      ...unknown.map(reportInDoubt),
      ...decisions.map((decision): RunEvent => ({ type: 'decided', decision })),
    ]
    const from: StartingPoint = { effects: [...unstarted, ...again], happened }
    const isTold = entries.at(-1)?.type === 'ended' || entries.at(-1)?.type === 'waiting'
    const isIdle = isTold && !fold.isUnderWay && happened.length === 0
    return {
      id,
      fold,
      recorded: entries.length,
      from: isIdle ? from : { ...from, opening: goingOn(id) },
      resumed: true,
    }
  }
}

/** Tells the journal that the run goes on here, and whoever had it before that it does not go on there. */
function goingOn(id: string): Opening {
  return {
    entry: { type: 'resumed', at: Date.now(), by: PROCESS },
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

async function loaded(journal: Journal, id: string): Promise<readonly JournalEntry[] | undefined> {
  try {
    return await journal.load(id)
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

/** What the model is told of a call that had begun when the process died. */
function reportInDoubt({ place }: Effect): RunEvent {
  return { type: 'settled', place, output: toolError('in_doubt', {}) }
}

function toolOf(effect: Effect, tools: RunTools): Tool | undefined {
  if (effect.kind !== 'runTool') return undefined
  const { step, transcript, call } = effect.input
  return tools.at(step, () => transcript.toArray()).byName.get(call.function.name)
}
