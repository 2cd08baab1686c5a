import { randomUUID } from 'node:crypto'
import type { ZodType } from 'zod'
import { checkedDecisions, checkedInput, checkedOptions } from './checks.ts'
import { LoopchartError, MisuseError } from './errors.ts'
import type { Journal, RunEvent } from './journal/entry.ts'
import { type AgentMachine, createAgentMachine } from './machines/agentMachine.ts'
import type { AgentInput, RunInput } from './machines/context.ts'
import type { Outcome } from './machines/outcome.ts'
import type { Decision } from './machines/reducers.ts'
import { type Limits, type RunSettings, resolveSettings } from './machines/settings.ts'
import { type Memory, wholeTranscript } from './memory/memory.ts'
import type { ReadResult } from './messages/readJson.ts'
import type { Model } from './models/model.ts'
import { outputFormat } from './outputFormat.ts'
import { claimRun } from './runtime/claimRun.ts'
import type { AgentEvent } from './runtime/events.ts'
import { type ExecutionOptions, execute, type PreparedRun, type Run, watch } from './runtime/execute.ts'
import { Fold, foldJournal } from './runtime/fold.ts'
import { provideServices } from './runtime/liveMachine.ts'
import { type Effect, PureMachine } from './runtime/pureMachine.ts'
import { servicesOf } from './services.ts'
import { timeoutMs } from './timeouts.ts'
import { toolError } from './tools/executeTool.ts'
import { toolsByName } from './tools/registry.ts'
import type { Tool } from './tools/tool.ts'

/** Milliseconds after which a model call is given up, unless the agent says otherwise. */
const DEFAULT_MODEL_TIMEOUT_MS = 600_000

export interface AgentOptions<Output = string> {
  /** The service that calls a language model, such as `openaiChat('gpt-4.1')`. */
  readonly model: Model
  /** What the model may call. Default: nothing. */
  readonly tools?: readonly Tool[]
  /** The system message, the same in every request. Default: the one that a given history begins with, or none. */
  readonly instructions?: string
  /**
   * The form of the answer, as a zod object: `outcome.output` is then what the schema makes of it. The provider is held
   * to the schema where it can be; an answer that does not fit is asked for again, within `limits.malformed`.
   * Default: text.
   */
  readonly output?: ZodType<Output>
  /** What of the transcript the model is shown. Default: all of it. */
  readonly memory?: Memory
  /** Bounds of every run; those left out keep their defaults. */
  readonly limits?: Partial<Limits>
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
   * @returns How the run ended. Rejects where the run is not in the journal, or was recorded by an agent that worked
   * otherwise (`journal_mismatch`).
   */
  resume(runId: string, options?: ResumeOptions): Promise<Outcome<Output>>
  /** The loop with this agent's model, tools and memory provided: an ordinary XState machine. */
  readonly machine: AgentMachine
}

/**
 * Makes an agent. It holds configuration only, so one agent serves any number of concurrent runs.
 *
 * @throws MisuseError for options that cannot work.
 */
export function createAgent<Output = string>(options: AgentOptions<Output>): Agent<Output> {
  const { model, instructions, memory = wholeTranscript, journal } = checkedOptions(options)
  const settings = resolveSettings(options)
  const tools = toolsByName(options.tools ?? [])
  const output = options.output && outputFormat(options.output)
  const modelTimeoutMs = timeoutMs('modelTimeoutMs', options.modelTimeoutMs ?? DEFAULT_MODEL_TIMEOUT_MS)
  const services = servicesOf({ model, tools, instructions, memory, output, modelTimeoutMs })
  const machine = provideServices(createAgentMachine(settings), services, memory)
  const pure = new PureMachine(machine)

  return {
    machine,
    async run(input, runOptions = {}) {
      const { runId = randomUUID() } = runOptions
      return drive(
        runId,
        (watched) => freshRun(checkedInput(input), runId, watched),
        executionOptions(runOptions),
      )
    },
    stream(input, runOptions = {}) {
      const { runId = randomUUID() } = runOptions
      const runInput = checkedInput(input)
      const launch = (execution: ExecutionOptions<Output>): Promise<Outcome<Output>> =>
        drive(runId, (watched) => freshRun(runInput, runId, watched), execution)
      return watch(runId, launch, executionOptions(runOptions))
    },
    async resume(runId, resumeOptions = {}) {
      const decisions = checkedDecisions(resumeOptions.decisions ?? [])
      return drive(
        runId,
        (watched) => recordedRun(runId, decisions, watched),
        executionOptions(resumeOptions),
      )
    },
  }

  /** Prepares and executes a run, while nobody else in this process does so with the same journal and id. */
  async function drive(
    id: string,
    prepare: (watched: boolean) => Promise<PreparedRun>,
    execution: ExecutionOptions<Output>,
  ): Promise<Outcome<Output>> {
    const release = journal && claimRun(journal, id)
    try {
      return await execute(await prepare(execution.onEvent !== undefined), execution)
    } finally {
      release?.()
    }
  }

  function executionOptions({ signal, onEvent, context }: RunOptions): ExecutionOptions<Output> {
    return { services, journal, signals: [signal], onEvent, context, read: output?.read ?? readText }
  }

  async function freshRun(input: RunInput, id: string, watched: boolean): Promise<PreparedRun> {
    const complete = { messages: input.messages, ...resolveSettings(input, settings) }
    const fold = new Fold(pure, complete, watched)
    const effects = [...fold.pending.values()]
    const first = { type: 'started', version: 1, at: Date.now(), input: complete } as const
    try {
      if ((await journal?.load(id)) === undefined)
        return { id, fold, from: { effects, first }, resumed: false }
    } catch (cause) {
      return { id, fold, from: { effects, failure: { cause } }, resumed: false }
    }
    throw new MisuseError(
      'run_exists',
      `A run with the id "${id}" is in the journal. Use agent.resume("${id}").`,
    )
  }

  async function recordedRun(
    id: string,
    decisions: readonly Decision[],
    watched: boolean,
  ): Promise<PreparedRun> {
    if (journal === undefined) {
      throw new MisuseError(
        'no_journal',
        'agent.resume needs createAgent({ journal }), the one that the run was kept in.',
      )
    }
    const entries = await journal.load(id)
    if (entries === undefined || entries === null) {
      throw new LoopchartError('run_not_found', `There is no run with the id "${id}" in the journal.`)
    }
    const { fold, unstarted, inDoubt, ended } = foldJournal(pure, entries, { runId: id, watched })
    requireKnownCalls(fold, decisions)
    const again = inDoubt.filter(isIdempotent)
    const unknown = inDoubt.filter((effect) => !isIdempotent(effect))
    const happened = [
      ...unknown.map(reportInDoubt),
      ...decisions.map((decision): RunEvent => ({ type: 'decided', decision })),
    ]
    return { id, fold, from: { effects: [...unstarted, ...again], happened, ended }, resumed: true }
  }

  function isIdempotent(effect: Effect): boolean {
    return effect.kind === 'runTool' && tools.get(effect.input.call.function.name)?.idempotent === true
  }
}

/** Without an `output` schema, `Output` is text. */
function readText<Output>(text: string): ReadResult<Output> {
  return { ok: true, value: text as Output }
}

/** What the model is told of a call that had begun when the process died. */
function reportInDoubt({ place }: Effect): RunEvent {
  const output = toolError(
    'in_doubt',
    'the process stopped while this call ran, so it is unknown whether it had an effect. It was not run again. ' +
      'Check before you repeat it.',
  )
  return { type: 'settled', place, output }
}

/** Deciding again on a call that was decided on is harmless; deciding on one that there is not is a mistake. */
function requireKnownCalls({ snapshot }: Fold, decisions: readonly Decision[]): void {
  if (snapshot.value !== 'awaitingApproval') return
  const known = snapshot.context.calls.map(({ call }) => call.id)
  const stray = decisions.find(({ callId }) => !known.includes(callId))
  if (stray === undefined) return
  throw new MisuseError(
    'unknown_call',
    `The run waits for no decision on the call "${stray.callId}". Its calls are ${known.join(', ')}.`,
  )
}
