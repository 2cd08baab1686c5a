import type { Parser } from 'expr-eval-fork'
import { z } from 'zod'
import { messageOf } from '../errors.ts'
import { defineTool } from '../tools/defineTool.ts'
import type { Tool } from '../tools/tool.ts'
import { halfWidth } from './halfWidth.ts'

const MAX_EXPRESSION_LENGTH = 500

/** Digits that a double holds faithfully: more would show the noise of binary fractions, as in 0.1 + 0.2. */
const FAITHFUL_DIGITS = 15

/** Strings, arrays, member access and statements have no sign here, so they cannot be written. */
const UNKNOWN_SIGN = /[^\w\s.,+\-*/%^!()]/u

const FUNCTIONS = ['max', 'min', 'pow', 'hypot', 'atan2', 'fac', 'roundTo']
const NOT_ARITHMETIC = ['not', 'length']

/** The tables that the parser looks names up in. `binaryOps` and `ternaryOps` are missing from its types. */
type ParserTables = Parser & { binaryOps: Table; ternaryOps: Table }
type Table = Record<string, unknown>

/**
 * Evaluates arithmetic. Arguments: `{ expression }`, at most 500 characters. Result: `{ expression, result }`, with a
 * `note` where whole numbers are too large to be exact.
 *
 * Throws for what it cannot read, for a division by zero and for results that are not finite numbers.
 */
export const calculate: Tool = defineTool({
  name: 'calculate',
  description:
    'Evaluates an arithmetic expression, such as "15*8+32" or "sqrt(2)^3". Knows + - * / % ^ ! and brackets, ' +
    'pi and e, sin, cos, tan, sqrt, log10, ln, abs, round, floor, ceil, min and max. Angles are in radians.',
  input: z.object({
    expression: z.string().trim().min(1).max(MAX_EXPRESSION_LENGTH).describe('For example "(3 + 4) * 2^10"'),
  }),
  idempotent: true,
  run: async ({ expression }) => {
    const result = finite(evaluate(await parser(), plain(expression)))
    if (!Number.isInteger(result)) return { expression, result: Number(result.toPrecision(FAITHFUL_DIGITS)) }
    if (Number.isSafeInteger(result)) return { expression, result }
    return { expression, result, note: 'approximate: the number is above 2^53' }
  },
})

function plain(expression: string): string {
  const text = halfWidth(expression)
    .replaceAll('×', '*')
    .replaceAll('÷', '/')
    .replaceAll('−', '-')
    .replaceAll('**', '^')
  const unknown = UNKNOWN_SIGN.exec(text)
  if (unknown !== null)
    throw new Error(`${JSON.stringify(unknown[0])} is not part of an arithmetic expression`)
  return text
}

function evaluate(arithmetic: Parser, expression: string): unknown {
  try {
    return arithmetic.evaluate(expression)
  } catch (cause) {
    throw new Error(`cannot evaluate ${JSON.stringify(expression)}: ${messageOf(cause)}`, { cause })
  }
}

function finite(value: unknown): number {
  if (typeof value !== 'number') throw new Error('the expression does not give a number')
  if (Number.isNaN(value)) throw new Error('the result is not a number (for example the square root of -1)')
  if (!Number.isFinite(value)) throw new Error('the result is too large to be represented')
  return value
}

let loaded: Promise<Parser> | undefined

/** The parser is loaded with the first use, so that importing the tools costs nothing. */
function parser(): Promise<Parser> {
  loaded ??= import('expr-eval-fork').then(({ Parser }) => arithmeticOnly(new Parser() as ParserTables))
  return loaded
}

/**
 * Leaves only arithmetic in the parser's tables. They lose their prototype as well, because the parser asks with
 * `in`: with it, `constructor(1)` and `toString` would be found.
 */
function arithmeticOnly(tables: ParserTables): ParserTables {
  tables.consts = bare({ pi: Math.PI, PI: Math.PI, e: Math.E, E: Math.E })
  tables.functions = bare(Object.fromEntries(FUNCTIONS.map((name) => [name, tables.functions[name]])))
  tables.unaryOps = bare(tables.unaryOps)
  for (const name of NOT_ARITHMETIC) delete tables.unaryOps[name]
  const { '+': add, '-': subtract, '*': multiply, '^': power } = tables.binaryOps
  tables.binaryOps = bare({ '+': add, '-': subtract, '*': multiply, '^': power, '/': divide, '%': remainder })
  tables.ternaryOps = bare({})
  return tables
}

function bare(entries: Table): Table {
  return Object.assign(Object.create(null), entries)
}

function divide(a: number, b: number): number {
  if (b === 0) throw new Error('division by zero')
  return a / b
}

function remainder(a: number, b: number): number {
  if (b === 0) throw new Error('division by zero')
  return a % b
}
