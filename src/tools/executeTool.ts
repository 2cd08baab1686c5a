import { messageOf } from '../errors.ts'
import type { ToolCall } from '../messages/types.ts'
import { renderResult } from './renderResult.ts'
import type { Tool, ToolContext, ToolErrorCode, ToolResult } from './tool.ts'

/** How much of unreadable arguments is shown back to the model, in characters. */
const SHOWN_ARGUMENTS = 300

/** How many issues of a schema are shown to the model. */
const SHOWN_ISSUES = 20

/** What a call is run with. `signal` ends the run or the step that wanted the call. */
export type ExecutionContext = Omit<ToolContext, 'callId'>

/**
 * Runs one call and says what came of it, in words for the model. Never rejects: an unknown tool, arguments that do
 * not fit and anything that a tool throws are results. Never waits for a deaf tool: the call is raced with its
 * signal and its timeout, and what it returns later is dropped.
 */
export async function executeTool(
  call: ToolCall,
  tools: ReadonlyMap<string, Tool>,
  context: ExecutionContext,
): Promise<ToolResult> {
  const tool = tools.get(call.function.name)
  if (tool === undefined) return unknownTool(call.function.name, tools)
  try {
    const read = await readArguments(call, tool)
    return read.ok ? await runRaced(tool, read.value, { ...context, callId: call.id }) : read.result
  } catch (thrown) {
    // The tool, or its schema's own code (a refinement, a transform), may throw at once.
    return failed(tool, thrown)
  }
}

/** Whether a person has to approve this call. Calls that cannot run need no approval: their error goes to the model. */
export async function callNeedsApproval(call: ToolCall, tools: ReadonlyMap<string, Tool>): Promise<boolean> {
  const tool = tools.get(call.function.name)
  if (tool === undefined || tool.needsApproval === false) return false
  try {
    const read = await readArguments(call, tool)
    if (!read.ok) return false
    return tool.needsApproval === true || (await tool.needsApproval(read.value)) !== false
  } catch {
    // A predicate that fails must not let a dangerous call through.
    return true
  }
}

type ReadArguments =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly result: ToolResult }

/** Arguments parsed and validated, or the error that tells the model what to mend. */
async function readArguments(call: ToolCall, tool: Tool): Promise<ReadArguments> {
  const text = call.function.arguments
  let json: unknown
  try {
    json = text.trim() === '' ? {} : JSON.parse(text)
  } catch (error) {
    return failure(
      'invalid_json',
      `The arguments of ${tool.name} are not valid JSON (${messageOf(error)}). The tool was not run. ` +
        `You sent: ${shorten(text)}\nSend one JSON object that fits this schema: ${JSON.stringify(tool.parameters)}`,
    )
  }
  const parsed = await tool.parse(json)
  if (parsed.ok) return parsed
  return failure(
    'invalid_arguments',
    `The arguments of ${tool.name} do not fit its schema. The tool was not run.\n` +
      listOf(parsed.issues) +
      `\nYou sent: ${shorten(text)}\nMend this and call the tool again.`,
  )
}

/** Runs a tool that may be deaf. One that returns at once needs no timer: it can be neither timed out nor cancelled. */
async function runRaced(tool: Tool, args: unknown, context: ToolContext): Promise<ToolResult> {
  if (context.signal.aborted) return cancelled(tool)
  const stopper = new Stopper(context.signal)
  const returned = tool.run(args, {
    ...context,
    get signal() {
      return stopper.signal
    },
  })
  if (!isThenable(returned)) return { content: renderResult(returned) }
  return race(tool, returned, stopper)
}

function race(tool: Tool, running: PromiseLike<unknown>, stopper: Stopper): Promise<ToolResult> {
  return new Promise((resolve) => {
    const settle = (result: ToolResult): void => {
      clearTimeout(timer)
      stopper.dispose()
      resolve(result)
    }
    const timer = setTimeout(() => {
      stopper.stop(new DOMException(`${tool.name} took too long`, 'TimeoutError'))
      settle(
        toolError(
          'timeout',
          `${tool.name} did not finish within ${tool.timeoutMs} ms and was given up. It may still have had an effect.`,
        ),
      )
    }, tool.timeoutMs)
    stopper.onStop(() => settle(cancelled(tool)))
    Promise.resolve(running).then(
      (value) => settle({ content: renderResult(value) }),
      (thrown) => settle(failed(tool, thrown)),
    )
  })
}

/** The signal of one call: aborted with the run's, or when the call is given up. Made only where a tool asks for it. */
class Stopper {
  readonly #outer: AbortSignal
  #controller: AbortController | undefined
  #stopped: { readonly reason: unknown } | undefined
  #listener: (() => void) | undefined

  constructor(outer: AbortSignal) {
    this.#outer = outer
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#stopped !== undefined) this.#controller.abort(this.#stopped.reason)
    }
    return this.#controller.signal
  }

  stop(reason: unknown): void {
    this.#stopped = { reason }
    this.#controller?.abort(reason)
  }

  onStop(listener: () => void): void {
    this.#listener = () => {
      this.stop(this.#outer.reason)
      listener()
    }
    if (this.#outer.aborted) this.#listener()
    else this.#outer.addEventListener('abort', this.#listener, { once: true })
  }

  dispose(): void {
    if (this.#listener !== undefined) this.#outer.removeEventListener('abort', this.#listener)
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    (typeof value === 'object' || typeof value === 'function') &&
    value !== null &&
    'then' in value &&
    typeof value.then === 'function'
  )
}

function cancelled({ name }: Tool): ToolResult {
  return toolError('cancelled', `${name} was cancelled. It may or may not have had an effect.`)
}

function failed({ name }: Tool, thrown: unknown): ToolResult {
  return toolError('failed', `${name} failed: ${nameAndMessage(thrown)}`)
}

function unknownTool(name: string, tools: ReadonlyMap<string, Tool>): ToolResult {
  const names = [...tools.keys()]
  return toolError(
    'unknown_tool',
    `There is no tool named ${JSON.stringify(name)}. ` +
      (names.length === 0 ? 'No tools are available.' : `Available tools: ${names.join(', ')}.`),
  )
}

/** An error as the model sees it: a fixed opening with the code, then what to do about it. */
export function toolError(error: ToolErrorCode, text: string): ToolResult {
  return { content: `Error (${error}): ${text}`.toWellFormed(), error }
}

function failure(error: ToolErrorCode, text: string): ReadArguments {
  return { ok: false, result: toolError(error, text) }
}

function nameAndMessage(thrown: unknown): string {
  const message = messageOf(thrown)
  try {
    return thrown instanceof Error && thrown.name !== 'Error' ? `${String(thrown.name)}: ${message}` : message
  } catch {
    return message
  }
}

function listOf(issues: readonly string[]): string {
  const lines = issues.slice(0, SHOWN_ISSUES).map((issue) => `- ${issue}`)
  const more = issues.length - lines.length
  return [...lines, ...(more > 0 ? [`- and ${more} more`] : [])].join('\n')
}

function shorten(text: string): string {
  return text.length <= SHOWN_ARGUMENTS
    ? text
    : `${text.slice(0, SHOWN_ARGUMENTS)}… (${text.length} characters)`
}
