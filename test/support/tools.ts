import { z } from 'zod'
import { defineTool, type Tool } from '../../src/index.ts'

/** Adds, and counts how often it ran. */
export function countingAdd(
  options: { readonly idempotent?: boolean } = {},
): Tool & { readonly runs: unknown[] } {
  const runs: unknown[] = []
  const tool = defineTool({
    name: 'add',
    description: 'Adds two numbers.',
    input: z.object({ a: z.number(), b: z.number() }),
    ...options,
    run: (args) => {
      runs.push(args)
      return args.a + args.b
    },
  })
  return { ...tool, runs }
}

/** Throws whatever it is given. */
export function throwing(thrown: unknown, name = 'fail'): Tool {
  return defineTool({
    name,
    description: 'Fails.',
    input: z.object({}),
    run: () => {
      throw thrown
    },
  })
}

/** Never settles and does not listen to its signal. */
export function deaf(name = 'deaf'): Tool {
  return returning(new Promise(() => {}), name)
}

/** Gives back this promise, whatever its signal says. */
export function returning(promise: Promise<unknown>, name: string): Tool {
  return defineTool({ name, description: 'Takes its time.', input: z.object({}), run: () => promise })
}

/** A promise with its handles. */
export function deferred<T>(): {
  promise: Promise<T>
  resolve(value: T): void
  reject(error: unknown): void
} {
  return Promise.withResolvers<T>()
}
