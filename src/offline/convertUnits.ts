import { z } from 'zod'
import { defineTool } from '../tools/defineTool.ts'
import type { Tool } from '../tools/tool.ts'
import { findUnit, listUnits, type Unit } from './units.ts'

const RESULT_DIGITS = 12
/** Degrees are differences of larger numbers, so their noise is absolute. */
const DEGREE_DECIMALS = 6

/**
 * Converts units. Arguments: `{ value, from, to }`. Result: `{ value, from, to, result }` with the units as symbols;
 * `result` has up to 12 significant digits.
 *
 * Throws for unknown units, units of different dimensions, temperatures below absolute zero and overflow.
 */
export const convertUnits: Tool = defineTool({
  name: 'convert_units',
  description: 'Converts a value between units of length, mass, temperature, volume, speed or data size.',
  input: z.object({
    value: z.number().describe('How many of `from`'),
    from: z.string().trim().min(1).max(50).describe('For example "km", "miles" or "华氏度"'),
    to: z.string().trim().min(1).max(50).describe('For example "mi", "kg" or "摄氏度"'),
  }),
  idempotent: true,
  run: (args) => {
    const from = knownUnit(args.from)
    const to = knownUnit(args.to)
    if (from.dimension !== to.dimension) {
      throw new Error(
        `${from.symbol} is a unit of ${from.dimension} and ${to.symbol} one of ${to.dimension}. ` +
          `From ${from.symbol} these are possible: ${listUnits(from.dimension)}`,
      )
    }
    return { value: args.value, from: from.symbol, to: to.symbol, result: convert(args.value, from, to) }
  },
})

function knownUnit(name: string): Unit {
  const unit = findUnit(name)
  if (unit === undefined) throw new Error(`unknown unit ${JSON.stringify(name)}. Known units: ${listUnits()}`)
  return unit
}

function convert(value: number, from: Unit, to: Unit): number {
  const base = (value + from.shift) * from.factor
  if (from.dimension === 'temperature' && base < 0) throw new Error('that is below absolute zero')
  const result = base / to.factor - to.shift
  if (!Number.isFinite(result)) throw new Error('the result is too large to be represented')
  return Number(to.shift === 0 ? result.toPrecision(RESULT_DIGITS) : result.toFixed(DEGREE_DECIMALS))
}
