import { type ZodNumber, type ZodObject, z } from 'zod'

/** What both loops are asked to do. */

export const INSTRUCTIONS = 'You add numbers with the tool, one at a time.'
export const QUESTION = 'Count up from zero, please.'

interface Addition {
  readonly name: 'add'
  readonly description: string
  readonly input: ZodObject<{ a: ZodNumber; b: ZodNumber }>
  readonly run: (args: { readonly a: number; readonly b: number }) => number
}

/** A tool that costs next to nothing and counts how often it was called. */
export class AdditionTool implements Addition {
  readonly name = 'add'
  readonly description = 'Adds two numbers.'
  readonly input: Addition['input'] = z.object({ a: z.number(), b: z.number() })
  calls = 0

  readonly run: Addition['run'] = ({ a, b }) => {
    this.calls++
    return a + b
  }
}
