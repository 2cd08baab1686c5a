// The options of LangChain's AgentExecutor, each as what says the same here.
//
//   node examples/recipes/agent-executor/agentExecutor.ts

import type { Agent, Message, Model, Tool } from 'loopchart'
import { createAgent, jsonProtocol, limitTexts } from 'loopchart'
import { calculate, getWeather } from 'loopchart/offline'
import { withModel } from '../withModel.ts'

interface ExecutorOptions {
  readonly tools?: readonly Tool[]
  /** `max_iterations`. Default: 15. */
  readonly maxIterations?: number
  /** `max_execution_time`, in milliseconds. Default: none. */
  readonly maxExecutionMs?: number
  /** `early_stopping_method`. Default: `force`. */
  readonly earlyStopping?: 'force' | 'generate'
  /** `handle_parsing_errors`: whether the model is told of a reply that cannot be read, or in which words. Default: false. */
  readonly handleParsingErrors?: boolean | string | ((problem: string) => string)
}

/** What AgentExecutor returns when it stops by force: `outcome.partial` here, as it is no answer. */
export const STOPPED = 'Agent stopped due to iteration limit or time limit.'

export function agentExecutor(model: Model, options: ExecutorOptions = {}): Agent {
  const { maxIterations = 15, maxExecutionMs = Infinity, handleParsingErrors = false } = options
  const isForced = (options.earlyStopping ?? 'force') === 'force'
  const words = typeof handleParsingErrors === 'string' ? () => handleParsingErrors : handleParsingErrors
  return createAgent({
    model: jsonProtocol(model, { whenUnparseable: typeof words === 'function' ? words : 'nudge' }),
    tools: options.tools ?? [getWeather, calculate],
    limits: {
      steps: isForced ? { abort: maxIterations } : maxIterations,
      time: isForced ? { abort: maxExecutionMs } : maxExecutionMs,
      malformed: handleParsingErrors === false ? 1 : Infinity,
    },
    texts: { ...limitTexts.en, noAnswer: () => STOPPED },
  })
}

/** `return_intermediate_steps`: each action with what was observed. */
export function intermediateSteps(transcript: readonly Message[]): string[][] {
  const calls = transcript.flatMap((said) => (said.role === 'assistant' ? (said.tool_calls ?? []) : []))
  const observations = transcript.flatMap((said) => (said.role === 'tool' ? [said.content] : []))
  return calls.map(({ function: { name, arguments: args } }, i) => [name, args, observations[i] ?? ''])
}

const script = [
  '{"action": "calculate", "action_input": {"expression": "15*8+32"}}',
  '{"final_answer": "It is 152."}',
]

export async function main(): Promise<void> {
  const onEvent = ({ type }: { readonly type: string }): unknown =>
    /^(model|tool)\./.test(type) && console.log(type)
  await withModel(
    async (model) => {
      const outcome = await agentExecutor(model).run('What is 15*8+32?', { onEvent })
      console.log(outcome.status === 'done' ? outcome.output : 'partial' in outcome && outcome.partial)
      console.log(intermediateSteps(outcome.transcript))
    },
    { script },
  )
}

if (process.argv[1] === import.meta.filename) await main()
