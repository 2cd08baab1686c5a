import { toolNames, type Want } from './wants.ts'

/** Brackets nested deeper than this are not looked into. */
const MAX_DEPTH = 50

const NUMBER = /(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[+-]?\d+)?/iy
const CONSTANT = /(?:pi|e)(?![a-z\d])/iy
const FUNCTION = /(?:sqrt|cbrt|sin|cos|tan|log10|log2|log|ln|abs|round|floor|ceil|max|min|pow)(?=\s*\()/iy
const SPACE = /\s*/y
const DATE = /^\d{4}-\d{1,2}-\d{1,2}$/

const OPERATORS: readonly (readonly [RegExp, string])[] = [
  [/\*\*|\^|to the power of/iy, '^'],
  [/[*×]|x(?=\s*[\d(])|times|multiplied by|乘以|乘/iy, '*'],
  [/[/÷]|divided by|除以/iy, '/'],
  [/%/y, '%'],
  [/\+|plus|加上|加/iy, '+'],
  [/[-−]|minus|减去|减/iy, '-'],
]

/** A piece of arithmetic that was read: where it ends, how it is written, and how much there is to work out. */
interface Reading {
  readonly end: number
  readonly text: string
  readonly steps: number
}

/** The arithmetic in a question, `15*8+32` as well as `15 times 8`. A number on its own is none. */
export function findExpressions(question: string): Want[] {
  const found: Want[] = []
  let at = 0
  while (at < question.length) {
    const reading = startsApart(question, at) ? readSum(question, at, 0) : undefined
    if (reading === undefined || reading.steps === 0 || DATE.test(reading.text)) {
      at = reading === undefined ? at + 1 : Math.max(reading.end, at + 1)
    } else {
      found.push({ at, tool: toolNames.arithmetic, args: { expression: reading.text } })
      at = reading.end
    }
  }
  return found
}

/** Not in the middle of a word, a number, a version or a time of day. */
function startsApart(question: string, at: number): boolean {
  return /\S/.test(question.charAt(at)) && !/[\w.:]-?$/.test(question.slice(Math.max(0, at - 2), at))
}

function readSum(source: string, start: number, depth: number): Reading | undefined {
  let sum = readOperand(source, start, depth)
  while (sum !== undefined) {
    const operator = readOperator(source, skipSpace(source, sum.end))
    const operand = operator && readOperand(source, skipSpace(source, operator.end), depth)
    if (operator === undefined || operand === undefined) return sum
    sum = {
      end: operand.end,
      text: sum.text + operator.text + operand.text,
      steps: sum.steps + operand.steps + 1,
    }
  }
  return undefined
}

function readOperand(source: string, start: number, depth: number): Reading | undefined {
  if (depth > MAX_DEPTH) return undefined
  const sign = /[+-]/.test(source.charAt(start)) ? source.charAt(start) : ''
  const at = start + sign.length
  const written = match(NUMBER, source, at) ?? match(CONSTANT, source, at)
  const operand =
    written === undefined
      ? readBrackets(source, at, depth)
      : { end: at + written.length, text: written.replaceAll(',', '').toLowerCase(), steps: 0 }
  return operand && { ...operand, text: sign + operand.text }
}

/** `( … )` or `name( …, … )`. */
function readBrackets(source: string, start: number, depth: number): Reading | undefined {
  const name = match(FUNCTION, source, start) ?? ''
  let at = skipSpace(source, start + name.length)
  if (source.charAt(at) !== '(') return undefined
  const parts: Reading[] = []
  do {
    const part = readSum(source, skipSpace(source, at + 1), depth + 1)
    if (part === undefined) return undefined
    parts.push(part)
    at = skipSpace(source, part.end)
  } while (name !== '' && source.charAt(at) === ',')
  if (source.charAt(at) !== ')') return undefined
  return {
    end: at + 1,
    text: `${name.toLowerCase()}(${parts.map((part) => part.text).join(',')})`,
    steps: parts.reduce((sum, part) => sum + part.steps, name === '' ? 0 : 1),
  }
}

function readOperator(source: string, at: number): Omit<Reading, 'steps'> | undefined {
  for (const [pattern, text] of OPERATORS) {
    const written = match(pattern, source, at)
    if (written !== undefined) return { end: at + written.length, text }
  }
  return undefined
}

function skipSpace(source: string, at: number): number {
  return at + (match(SPACE, source, at) ?? '').length
}

function match(pattern: RegExp, source: string, at: number): string | undefined {
  pattern.lastIndex = at
  return pattern.exec(source)?.[0]
}
