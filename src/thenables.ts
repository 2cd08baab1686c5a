/** Whether a value is a promise, or behaves as one. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    (typeof value === 'object' || typeof value === 'function') &&
    value !== null &&
    'then' in value &&
    typeof value.then === 'function'
  )
}

/** Takes the word of a promise that nobody asked for: a rejection that is not heard would end the process. */
export function hush(value: unknown): void {
  if (isThenable(value)) Promise.resolve(value).catch(() => {})
}

/**
 * The value of a promise, unless it takes longer than so many milliseconds: then it fails with what `late` makes.
 *
 * @param signal Aborted where nobody waits any more: the time is then not kept either.
 */
export async function within<Value>(
  ms: number,
  promise: PromiseLike<Value>,
  late = (): Error => new DOMException(`nothing came within ${ms} ms`, 'TimeoutError'),
  signal?: AbortSignal,
): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(late()), ms)
  })
  const forget = (): void => clearTimeout(timer)
  signal?.addEventListener('abort', forget, { once: true })
  try {
    return await Promise.race([promise, tooLate])
  } finally {
    forget()
    signal?.removeEventListener('abort', forget)
  }
}
