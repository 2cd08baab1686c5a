import { describeError, MisuseError } from '../errors.ts'
import type { ModelReply } from '../messages/reply.ts'
import type { Model, ModelIO, ModelRequest } from './model.ts'

export interface FallbackOptions {
  /** Whether a question whose answer the provider's content filter stopped is put to the next model. Default: false. */
  readonly onContentFilter?: boolean
}

/** Errors for which the next model is asked at once, without trying the same one again. */
const NEXT_AT_ONCE = new Set(['overloaded', 'authentication', 'permission', 'not_found', 'quota_exceeded'])

/**
 * Several models as one. Where a model is overloaded or cannot be used at all, the next one is asked at once; where
 * it fails in another way that may pass, the chart tries it again first, and the next one is asked when its retries
 * are used up. An error that would be the same everywhere (a bad request, a conversation that is too long) is not
 * handed on. Each step begins with the first model again; `outcome.answeredBy` tells which one answered.
 *
 * @throws MisuseError `invalid_model` for an empty list.
 */
export function fallback(models: readonly Model[], options: FallbackOptions = {}): Model {
  const [first, ...others] = models
  if (first === undefined) throw new MisuseError('invalid_model', 'fallback needs at least one model.')
  return {
    id: models.map(({ id }) => id).join(', else '),
    ...smallestWindow(models),
    ids: models.flatMap(({ id, ids }) => ids ?? [id]),
    async generate(request, io) {
      let attempt = await ask(first, request, io)
      for (const next of others) {
        if (io.signal.aborted || !isHandedOn(attempt, io, options)) break
        if (attempt.hasShownText) io.onReset?.()
        attempt = await ask(next, request, io)
      }
      if ('thrown' in attempt) throw attempt.thrown
      return attempt.reply
    },
  }
}

/** A conversation has to fit into whichever model is asked. */
function smallestWindow(models: readonly Model[]): Pick<Model, 'contextWindow'> {
  const known = models.flatMap(({ contextWindow }) => contextWindow ?? [])
  return known.length === 0 ? {} : { contextWindow: Math.min(...known) }
}

type Attempt = { readonly hasShownText: boolean } & (
  | { readonly reply: ModelReply }
  | { readonly thrown: unknown }
)

async function ask(model: Model, request: ModelRequest, io: ModelIO): Promise<Attempt> {
  let hasShownText = false
  const { onDelta } = io
  const noticing: Pick<ModelIO, 'onDelta'> =
    onDelta === undefined
      ? {}
      : {
          onDelta(delta) {
            hasShownText = true
            onDelta(delta)
          },
        }
  try {
    const reply = await model.generate(request, { ...io, ...noticing })
    return { reply: { ...reply, model: model.id }, hasShownText }
  } catch (thrown) {
    return { thrown, hasShownText }
  }
}

function isHandedOn(
  attempt: Attempt,
  { retriesLeft = 0 }: ModelIO,
  { onContentFilter = false }: FallbackOptions,
): boolean {
  if ('reply' in attempt) return onContentFilter && attempt.reply.finish === 'content_filter'
  const { code, retryable } = describeError(attempt.thrown)
  if (code === 'content_filter') return onContentFilter
  return NEXT_AT_ONCE.has(code) || (retryable && retriesLeft === 0)
}
