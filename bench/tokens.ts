import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { machineLine } from './report.ts'
import { spreadOf } from './statistics.ts'
import { type Count, type CounterName, counters } from './tokenCounters.ts'
import type { Load } from './tokenLoad.ts'
import { longTexts, type TextKind, textKinds } from './tokenTexts.ts'

/** What must hold for any text of 100,000 characters, and for loading. */
const GOALS = { longTextMs: 250, loadMs: 200, loadMegabytes: 50 }

const names = Object.keys(counters) as CounterName[]
const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '7' }, quick: { type: 'boolean', default: false } },
})
const rounds = values.quick ? 2 : Number(values.rounds)
if (!(Number.isInteger(rounds) && rounds >= 1)) {
  throw new Error(`--rounds takes a whole number of at least 1, not ${JSON.stringify(values.rounds)}.`)
}

console.log(machineLine())
console.log(`\ncounting: MB of UTF-8 a second, median of ${rounds} rounds`)
printTable([['', ...names], ...(await throughput())])
console.log('\nloading, in a new process: ms and MB of memory, median of the rounds (best)')
printTable([['', ...names], ...loading()])
console.log('\n100,000 characters, loopchart: ms, median of the rounds (best), the slowest first')
printTable(await longest())

/** A row for each kind of text. The counters take turns, so that what disturbs the machine disturbs them alike. */
async function throughput(): Promise<readonly (readonly string[])[]> {
  const ready = await Promise.all(names.map(async (name) => ({ name, count: await counters[name]() })))
  for (const { count } of ready)
    for (const { text } of textKinds.slice(0, 3)) for (let i = 1; i <= 5; i++) count(text(-i))
  return textKinds.map((kind) => {
    const speeds = new Map<CounterName, number[]>(names.map((name) => [name, []]))
    for (let round = 0; round < rounds; round++) {
      const text = kind.text(round)
      const counted = ready.map(({ name, count }) => {
        // js-tiktoken takes quadratic time for these.
        const given = name === 'js-tiktoken' ? (kind.shorter?.(round) ?? text) : text
        const { tokens, ms } = timed(count, given)
        speeds.get(name)?.push(Buffer.byteLength(given) / 1000 / ms)
        return given === text ? tokens : undefined
      })
      if (new Set(counted.filter((tokens) => tokens !== undefined)).size > 1) {
        throw new Error(
          `The counters disagree about a text: ${kind.name}, round ${round}: ${counted.join(', ')}.`,
        )
      }
    }
    return [kind.name, ...names.map((name) => speed(kind, name, speeds.get(name) ?? []))]
  })
}

function speed(kind: TextKind, name: CounterName, speeds: readonly number[]): string {
  const { median } = spreadOf(speeds)
  const mark = name === 'js-tiktoken' && kind.shorter !== undefined ? '*' : ''
  return `${median.toPrecision(2)}${mark}`
}

function loading(): readonly (readonly string[])[] {
  const loads = names.map((name) => Array.from({ length: rounds }, () => loadOf(name)))
  const row = (unit: keyof Load): readonly string[] =>
    loads.map((ofCounter) => medianAndBest(ofCounter.map((load) => load[unit])))
  return [
    [`ms (goal ${GOALS.loadMs})`, ...row('ms')],
    [`MB (goal ${GOALS.loadMegabytes})`, ...row('megabytes')],
  ]
}

function loadOf(name: CounterName): Load {
  const script = fileURLToPath(new URL('./tokenLoad.ts', import.meta.url))
  return JSON.parse(execFileSync(process.execPath, ['--expose-gc', script, name], { encoding: 'utf8' }))
}

async function longest(): Promise<readonly (readonly string[])[]> {
  const count = await counters.loopchart()
  const measured = longTexts.map(({ name, text }) => ({
    name,
    costs: Array.from({ length: rounds }, () => timed(count, text).ms),
  }))
  return measured
    .toSorted((a, b) => spreadOf(b.costs).median - spreadOf(a.costs).median)
    .map(({ name, costs }) => [
      name,
      medianAndBest(costs),
      isSlow(costs) ? `goal ${GOALS.longTextMs}: missed` : '',
    ])
}

function isSlow(costs: readonly number[]): boolean {
  return spreadOf(costs).median > GOALS.longTextMs
}

function medianAndBest(costs: readonly number[]): string {
  const { median, least } = spreadOf(costs)
  return `${median.toFixed(0)} (${least.toFixed(0)})`
}

function timed(count: Count, text: string): { readonly tokens: number; readonly ms: number } {
  const startedAt = performance.now()
  const tokens = count(text)
  return { tokens, ms: performance.now() - startedAt }
}

function printTable(rows: readonly (readonly string[])[]): void {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  for (const row of rows) {
    const cells = row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
    )
    console.log(`  ${cells.join('  ')}`.trimEnd())
  }
}
