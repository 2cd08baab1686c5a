import { z } from 'zod'
import type { Agent, RunOptions } from './agent.ts'
import { Interruption, LoopchartError } from './errors.ts'
import type { Outcome, RunUsage } from './machines/outcome.ts'
import { noUsage, type Usage } from './messages/reply.ts'
import type { Message } from './messages/types.ts'
import type { AgentEvent } from './runtime/events.ts'
import { defineTool, type ToolDefinition } from './tools/defineTool.ts'
import type { Tool, ToolContext } from './tools/tool.ts'

/** Milliseconds after which a sub-agent is given up, unless the tool says otherwise. */
const DEFAULT_TIMEOUT_MS = 600_000

/** What a sub-agent is asked with, unless the tool says otherwise. */
export interface AgentTask {
  readonly task: string
}

const taskInput: ToolDefinition<AgentTask>['input'] = z.object({
  task: z.string().describe('What to do, with everything one has to know for it.'),
})

/** What a sub-agent has in common with other tools. */
type Inherited =
  | 'name'
  | 'description'
  | 'strict'
  | 'needsApproval'
  | 'sequential'
  | 'concurrency'
  | 'repeatable'
  | 'maxResultTokens'
  | 'maxResultCharacters'
  | 'onlyWhen'
  | 'render'

export interface AgentToolOptions<Arguments = AgentTask> extends Pick<ToolDefinition<Arguments>, Inherited> {
  /** What the model has to send. Default: `{ task: string }`. */
  readonly input?: ToolDefinition<Arguments>['input']
  /** What the sub-agent is asked. Default: the task; with an `input` of your own, the arguments as JSON. */
  readonly message?: (args: Arguments) => string | readonly Message[]
  /** Milliseconds after which the sub-agent is given up; its run is aborted. Default: 600000, ten minutes. */
  readonly timeoutMs?: number
  /**
   * Whether a call may run again when a crash left its outcome unknown. Right for a sub-agent that keeps a journal, which
   * then goes on where it stopped. Default: false.
   */
  readonly idempotent?: boolean
}

/** What a sub-agent shows of its run, as the progress of the call that it answers. */
export interface AgentProgress {
  readonly type: 'agent'
  /** With the id of the sub-agent's run: `runId/callId` of the call. */
  readonly event: AgentEvent
}

type SubAgent<Output> = Pick<Agent<Output>, 'run' | 'resume'>

/**
 * An agent as a tool of another one. Its answer is the result of the call; a run of it that is aborted, or waits for
 * a person, is a tool error. It is cancelled with the call, and given the `context` of the run that calls it. Where one of
 * the two agents is closed meanwhile, the call has no result yet: both runs can be resumed.
 */
export function agentAsTool<Output, Arguments = AgentTask>(
  agent: SubAgent<Output>,
  { input, message, ...options }: AgentToolOptions<Arguments>,
): Tool {
  const ask = message ?? ((args) => (input === undefined ? (args as AgentTask).task : JSON.stringify(args)))
  return defineTool<Arguments>({
    timeoutMs: DEFAULT_TIMEOUT_MS,
    ...options,
    // What a run did, it did for good: a run that was aborted is not tried again.
    retries: 0,
    // Without an input of its own, `Arguments` is `AgentTask`.
    input: input ?? (taskInput as ToolDefinition<Arguments>['input']),
    async run(args, context) {
      return answerOf(await runSubAgent(agent, ask(args), context, options.idempotent === true))
    },
  })
}

/** Runs a sub-agent below a call, or goes on with its run where a crash stopped it. */
async function runSubAgent<Output>(
  agent: SubAgent<Output>,
  question: string | readonly Message[],
  context: ToolContext,
  mayGoOn: boolean,
): Promise<Outcome<Output>> {
  const runId = `${context.runId}/${context.callId}`
  const meter = usageMeter(context)
  const options: RunOptions = {
    signal: context.signal,
    context: context.context,
    onEvent(event) {
      meter.see(event)
      context.emit({ type: 'agent', event } satisfies AgentProgress)
    },
  }
  const outcome = await agent.run(question, { ...options, runId }).catch((thrown: unknown) => {
    const code = thrown instanceof LoopchartError ? thrown.code : undefined
    // Somebody may have recovered the run meanwhile: what it comes to is the answer.
    const hasBegun = code === 'run_exists' || code === 'run_active'
    if (hasBegun && mayGoOn) return agent.resume(runId, { ...options, whenBusy: 'queue' })
    if (code === 'agent_closed') throw new Interruption()
    throw thrown
  })
  meter.settle(outcome.usage.byModel)
  return outcome
}

/**
 * Counts tokens into the run above as they are spent, so that a call which is given up has counted what it spent until
 * then; the end makes up for what was spent before a crash.
 */
function usageMeter(context: ToolContext): {
  see(event: AgentEvent): void
  settle(total: RunUsage['byModel']): void
} {
  const counted = new Map<string, Usage>()
  const settle = (total: RunUsage['byModel']): void => {
    for (const [model, usage] of Object.entries(total)) {
      const spent = difference(usage, counted.get(model) ?? noUsage)
      counted.set(model, usage)
      if (spent.inputTokens > 0 || spent.outputTokens > 0) context.addUsage?.(spent, model)
    }
  }
  return {
    settle,
    see(event) {
      if (event.type === 'usage.updated') settle(event.usage.byModel)
    },
  }
}

function difference(total: Usage, counted: Usage): Usage {
  return {
    inputTokens: total.inputTokens - counted.inputTokens,
    cachedTokens: total.cachedTokens - counted.cachedTokens,
    outputTokens: total.outputTokens - counted.outputTokens,
    reasoningTokens: total.reasoningTokens - counted.reasoningTokens,
    ...(total.estimated === true ? { estimated: true } : {}),
  }
}

function answerOf<Output>(outcome: Outcome<Output>): Output {
  switch (outcome.status) {
    case 'done':
      return outcome.output
    case 'aborted': {
      if (outcome.reason === 'interrupted') throw new Interruption()
      const partial = outcome.partial === undefined ? '' : ` The last that it said: ${outcome.partial}`
      throw new Error(`the agent gave no answer (${outcome.reason}): ${outcome.message}${partial}`)
    }
    case 'waiting': {
      const names = outcome.approvals.map(({ name }) => name).join(', ')
      throw new Error(
        `the agent stopped because a person has to approve its calls of ${names}, and nobody can be asked from ` +
          'inside another agent.',
      )
    }
  }
}
