import { z } from 'zod'
import { defineTool, type Tool } from '../../../src/index.ts'
import type { ScriptedReply } from '../../../src/testing/index.ts'

/** Looks something up, at once. */
export const lookUp: Tool = defineTool({
  name: 'look_up',
  description: 'Looks something up.',
  input: z.object({ what: z.string() }),
  run: ({ what }) => `There is much to say of ${what}.`,
})

/** Books something, if a person agrees; tells what it was called with. */
export function bookable(): Tool & { readonly booked: unknown[] } {
  const booked: unknown[] = []
  const tool = defineTool({
    name: 'book',
    description: 'Books a seat.',
    input: z.object({ seat: z.string() }),
    needsApproval: true,
    run: (args) => {
      booked.push(args)
      return `Seat ${args.seat} is booked.`
    },
  })
  return { ...tool, booked }
}

/** A tool that ends when the test says so. */
export function opened(name: string): Tool & { readonly finish: (result: string) => void } {
  const { promise, resolve } = Promise.withResolvers<string>()
  const tool = defineTool({
    name,
    description: 'Takes its time.',
    input: z.object({}),
    run: () => promise,
  })
  return { ...tool, finish: resolve }
}

export function asks(...calls: readonly (readonly [name: string, args: unknown])[]): ScriptedReply {
  return { calls: calls.map(([name, args]) => ({ name, arguments: args })) }
}
