import { type Backoff, waitAfter } from '../backoff.ts'
import { delay } from '../delay.ts'
import { environment } from '../environment.ts'
import { Interruption, messageOf } from '../errors.ts'
import type { Spent } from '../machines/effects.ts'
import { capText } from '../messages/capText.ts'
import { addUsage, noUsage, type Usage } from '../messages/reply.ts'
import { soundUsage } from '../messages/soundReply.ts'
import { toolError } from '../messages/toolTexts.ts'
import type { ToolCall } from '../messages/types.ts'
import { hush, isThenable, within } from '../thenables.ts'
import { isTimeoutError } from './isTimeoutError.ts'
import { thrownText } from './plainError.ts'
import { readArguments } from './readArguments.ts'
import { renderResult } from './renderResult.ts'
import type { Slots } from './slots.ts'
import type { Tool, ToolContext, ToolResult } from './tool.ts'

/** What a call is run with. `signal` ends the run or the step that wanted the call. */
export interface ExecutionContext extends Omit<ToolContext, 'callId'> {
  /** Where the calls of the agent run. */
  readonly slots: Slots
  /** Told before a call is tried again. */
  onRetry(retry: { readonly failures: number; readonly delayMs: number; readonly message: string }): void
  /** Told what the call has spent so far on models of its own, in all, whenever that is more than before. */
  onSpend?(total: readonly Spent[]): void
}

/** Waits between the attempts of one call. */
const BACKOFF: Backoff = { baseMs: 200, capMs: 5000 }

/**
 * Runs one call and says what came of it, in words for the model. Rejects for no failure: an unknown tool, arguments that do
 * not fit and anything that a tool throws are results. Never waits for a deaf tool: the call is raced with its
 * signal and its timeout, and what it returns later is dropped.
 *
 * @returns What came of it. Rejects with an `Interruption` where the tool says so: the call has no result yet.
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
    if (!read.ok) return read.result
    return await runInSlot(tool, read.value, call.id, context)
  } catch (thrown) {
    if (thrown instanceof Interruption) throw thrown
    if (context.signal.aborted) return cancelled(tool, false)
    // A schema's own code (a refinement, a transform) may throw.
    return failed(tool, thrown)
  }
}

/** The time that a call waits for its place does not count as its own. */
async function runInSlot(
  tool: Tool,
  args: unknown,
  callId: string,
  context: ExecutionContext,
): Promise<ToolResult> {
  const { slots, onRetry, onSpend, ...toolContext } = context
  const watchers = { onRetry, onSpend }
  if (slots.isFree(tool)) return runWithRetries(tool, args, { ...toolContext, callId }, watchers)
  const leave = await slots.enter(tool, context.signal)
  try {
    return await runWithRetries(tool, args, { ...toolContext, callId }, watchers)
  } finally {
    leave()
  }
}

/** Who is told what happens to a call meanwhile. */
interface Watchers {
  readonly onRetry: ExecutionContext['onRetry']
  readonly onSpend: ExecutionContext['onSpend']
}

/** Only errors that may pass are tried again: a timeout leaves open whether the tool did its work. */
async function runWithRetries(
  tool: Tool,
  args: unknown,
  context: ToolContext,
  { onRetry, onSpend }: Watchers,
): Promise<ToolResult> {
  let usage = noUsage
  const byModel = new Map<string, Usage>()
  const counting: ToolContext = {
    ...context,
    addUsage: (given, model = tool.name) => {
      const spent = soundUsage(given)
      usage = addUsage(usage, spent)
      byModel.set(model, addUsage(byModel.get(model) ?? noUsage, spent))
      onSpend?.([...byModel].map(([name, total]) => ({ model: name, usage: total })))
    },
  }
  for (let failures = 1; ; failures++) {
    const { result, thrown } = await runRaced(tool, args, counting)
    if (thrown?.error instanceof Interruption) throw thrown.error
    if (thrown === undefined || failures > tool.retries || !mayPass(tool, thrown.error)) {
      return byModel.size === 0 ? result : { ...result, usage, usageByModel: Object.fromEntries(byModel) }
    }
    const delayMs = waitAfter(failures, tool.retryDelaysMs, BACKOFF)
    onRetry({ failures, delayMs, message: messageOf(thrown.error) })
    await delay(delayMs, context.signal)
  }
}

function mayPass(tool: Tool, error: unknown): boolean {
  try {
    const answer: unknown = tool.isTransient(error)
    hush(answer)
    return answer === true
  } catch {
    return false
  }
}

/** Whether a person has to approve this call. Calls that cannot run need no approval: their error goes to the model. */
export async function callNeedsApproval(call: ToolCall, tools: ReadonlyMap<string, Tool>): Promise<boolean> {
  const tool = tools.get(call.function.name)
  if (tool === undefined || tool.needsApproval === false) return false
  try {
    const read = await readArguments(call, tool)
    if (!read.ok) return false
    if (tool.needsApproval === true) return true
    const answer = tool.needsApproval(read.value)
    return (isThenable(answer) ? await within(tool.timeoutMs, answer) : answer) !== false
  } catch {
    // A predicate that fails, or never answers, must not let a dangerous call through.
    return true
  }
}

/** What one execution came to, with what the tool threw. */
interface Attempt {
  readonly result: ToolResult
  readonly thrown?: { readonly error: unknown }
}

/** Runs a tool that may be deaf. One that returns at once needs no timer: it can be neither timed out nor cancelled. */
async function runRaced(tool: Tool, args: unknown, context: ToolContext): Promise<Attempt> {
  if (context.signal.aborted) return { result: cancelled(tool, false) }
  const stopper = new Stopper(context.signal)
  try {
    const returned = tool.run(args, {
      ...context,
      get signal() {
        return stopper.signal
      },
    })
    return isThenable(returned) ? await race(tool, returned, stopper) : succeeded(tool, returned)
  } catch (error) {
    return { result: failed(tool, error), thrown: { error } }
  }
}

function race(tool: Tool, running: PromiseLike<unknown>, stopper: Stopper): Promise<Attempt> {
  return new Promise((resolve) => {
    const settle = (attempt: Attempt): void => {
      stopTimer()
      stopper.dispose()
      resolve(attempt)
    }
    const stopTimer = environment().after(tool.timeoutMs, () => {
      stopper.stop(new DOMException(`${tool.name} took too long`, 'TimeoutError'))
      settle({ result: timedOut(tool) })
    })
    stopper.onStop(() => settle({ result: cancelled(tool, true) }))
    Promise.resolve(running).then(
      (value) => settle(succeeded(tool, value)),
      (error) => settle({ result: failed(tool, error), thrown: { error } }),
    )
  })
}

function succeeded(tool: Tool, value: unknown): Attempt {
  return { result: { content: capped(tool, rendered(tool, value)) } }
}

function capped({ maxResultTokens, maxResultCharacters }: Tool, text: string): string {
  const content = capText(text, maxResultTokens)
  return maxResultCharacters === undefined
    ? content
    : capText(content, maxResultCharacters, ({ length }) => length)
}

/** A tool that ran has run, whatever becomes of its result. */
function rendered({ render }: Tool, value: unknown): string {
  if (render === undefined) return renderResult(value)
  try {
    return renderResult(render(value))
  } catch (thrown) {
    return `The call succeeded, but its result cannot be shown: ${thrownText(thrown)}`
  }
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

function timedOut({ name, timeoutMs }: Tool): ToolResult {
  return toolError('timeout', { name, timeoutMs })
}

function cancelled({ name }: Tool, begun: boolean): ToolResult {
  return toolError('cancelled', { name, begun })
}

function failed({ name }: Tool, thrown: unknown): ToolResult {
  const facts = { name, problem: thrownText(thrown) }
  return isTimeoutError(thrown) ? toolError('timeout', facts) : toolError('failed', facts)
}

function unknownTool(name: string, tools: ReadonlyMap<string, Tool>): ToolResult {
  return toolError('unknown_tool', { name, available: [...tools.keys()] })
}
