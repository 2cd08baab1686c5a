import { randomUUID } from 'node:crypto'
import type { ZodType } from 'zod'
import { LoopchartError, MisuseError } from './errors.ts'
import type { Journal, RunEvent } from './journal/entry.ts'
import { type AgentMachine, createAgentMachine } from './machines/agentMachine.ts'
import { type AgentInput, messagesOf, type RunInput, runInputOf } from './machines/context.ts'
import type { Outcome } from './machines/outcome.ts'
import type { Decision } from './machines/reducers.ts'
import { type Limits, resolveSettings } from './machines/settings.ts'
import { type Memory, wholeTranscript } from './memory/memory.ts'
import type { ReadResult } from './messages/readJson.ts'
import type { Model } from './models/model.ts'
import { outputFormat } from './outputFormat.ts'
import type { AgentEvent } from './runtime/events.ts'
import { type ExecutionOptions, execute, type PreparedRun, type Run, watch } from './runtime/execute.ts'
import { Fold, foldJournal } from './runtime/fold.ts'
import { provideServices } from './runtime/liveMachine.ts'
import { type Effect, PureMachine } from './runtime/pureMachine.ts'
import { servicesOf } from './services.ts'
import { toolError } from './tools/executeTool.ts'
import { toolsByName } from './tools/registry.ts'
import type { Tool } from './tools/tool.ts'

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
  /** Keeps what happens, so that a run can be resumed. Default: nothing is kept. */
  readonly journal?: Journal
}

export interface RunOptions {
  /** Aborts the run: it settles at once as `aborted` with reason `cancelled`. */
  readonly signal?: AbortSignal
  /** Called with everything that can be seen of the run. What it throws becomes a process warning. */
  readonly onEvent?: (event: AgentEvent) => void
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
  const { model, instructions, memory = wholeTranscript, journal } = options
  if (typeof model?.generate !== 'function') {
    throw new MisuseError(
      'invalid_model',
      "createAgent needs a model, for instance model: openaiChat('gpt-4.1').",
    )
  }
  const settings = resolveSettings({ limits: options.limits, modelRetries: options.modelRetries })
  const tools = toolsByName(options.tools ?? [])
  const output = options.output && outputFormat(options.output)
  const services = servicesOf({ model, tools, instructions, memory, output })
  const machine = provideServices(createAgentMachine(settings), services, memory)
  const pure = new PureMachine(machine)

  return {
    machine,
    async run(input, runOptions = {}) {
      return execute(await freshRun(checkedInput(input), runOptions.runId), executionOptions(runOptions))
    },
    stream(input, runOptions = {}) {
      const { runId = randomUUID() } = runOptions
      return watch(runId, freshRun(checkedInput(input), runId), executionOptions(runOptions))
    },
    async resume(runId, resumeOptions = {}) {
      return execute(await recordedRun(runId, resumeOptions.decisions ?? []), executionOptions(resumeOptions))
    },
  }

  function executionOptions({ signal, onEvent }: RunOptions): ExecutionOptions<Output> {
    return { services, journal, signals: [signal], onEvent, read: output?.read ?? readText }
  }

  async function freshRun(input: RunInput, id: string = randomUUID()): Promise<PreparedRun> {
    if (journal !== undefined && (await journal.load(id)) !== undefined) {
      throw new MisuseError(
        'run_exists',
        `A run with the id "${id}" is in the journal. Use agent.resume("${id}").`,
      )
    }
    const { limits, modelRetries } = resolveSettings(input, settings)
    const complete = { messages: input.messages, limits, modelRetries }
    const fold = new Fold(pure, complete)
    const first = { type: 'started', version: 1, at: Date.now(), input: complete } as const
    return { id, fold, from: { effects: [...fold.pending.values()], first }, resumed: false }
  }

  async function recordedRun(id: string, decisions: readonly Decision[]): Promise<PreparedRun> {
    if (journal === undefined) {
      throw new MisuseError(
        'no_journal',
        'agent.resume needs createAgent({ journal }), the one that the run was kept in.',
      )
    }
    const entries = await journal.load(id)
    if (entries === undefined) {
      throw new LoopchartError('run_not_found', `There is no run with the id "${id}" in the journal.`)
    }
    const { fold, unstarted, inDoubt, ended } = foldJournal(pure, entries, id)
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

function checkedInput(input: AgentInput): RunInput {
  const runInput = runInputOf(input)
  const messages = messagesOf(runInput.messages)
  const last = messages.findLast(({ role }) => role === 'user')
  if (last === undefined || last.content === null || last.content.length === 0) {
    throw new MisuseError(
      'empty_input',
      'A run needs a question: a string that is not empty, or messages with a user message that is not empty.',
    )
  }
  return { ...runInput, messages }
}
