import { availableParallelism, cpus, loadavg } from 'node:os'
import { type Judged, judgeCell, judgeGrowth } from './goals.ts'
import { type Cell, costOf, type Measured, ratioOf } from './results.ts'
import type { ScenarioName } from './scenarios.ts'
import type { Spread } from './statistics.ts'

const titles: Readonly<Record<ScenarioName, string>> = {
  loop: 'loop alone: a fake model in this process',
  http: 'http: the openai SDK over loopback, replies in one piece',
  streaming: 'streaming: the openai SDK over loopback, agent.stream',
}

const header = [
  'steps',
  'runs',
  'CPU µs',
  'wall µs',
  'CPU by hand',
  'wall by hand',
  'CPU ratio',
  'wall ratio',
  'goal',
]

/** The results for people. */
export function tableOf({ scenario, cells }: Measured): string {
  const rows = [header, ...cells.map((cell) => rowOf(scenario, cell))]
  const widths = header.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const lines = rows.map((row) =>
    row.map((text, column) => pad(text, widths[column] ?? 0, column)).join('  '),
  )
  const growth = judgeGrowth({ scenario, cells }).map(
    (judged) => `${judged.of}: ${judged.value.toFixed(2)}; ${distance(judged)}`,
  )
  return [
    titles[scenario],
    ...lines.map((line) => `  ${line.trimEnd()}`),
    ...growth.map((line) => `  ${line}`),
  ].join('\n')
}

/** The results for programs: every round, and what the table says of them. */
export function documentOf(measured: readonly Measured[]): unknown {
  return {
    machine: machine(),
    unit: 'microseconds per step',
    scenarios: measured.map(({ scenario, cells }) => ({
      scenario,
      cells: cells.map((cell) => ({
        steps: cell.steps,
        runs: cell.runs,
        loopchart: { cpu: costOf(cell, 'loopchart', 'cpu'), wall: costOf(cell, 'loopchart', 'wall') },
        byHand: { cpu: costOf(cell, 'byHand', 'cpu'), wall: costOf(cell, 'byHand', 'wall') },
        ratio: { cpu: ratioOf(cell, 'cpu'), wall: ratioOf(cell, 'wall') },
        judged: judgeCell(scenario, cell),
        rounds: cell.rounds,
      })),
      growth: judgeGrowth({ scenario, cells }),
    })),
  }
}

export function machineLine(): string {
  const { node, cpu, cores, load } = machine()
  return `Node ${node}, ${cores} × ${cpu}, load average ${load.map((value) => value.toFixed(1)).join(' ')}`
}

function machine() {
  const [cpu] = cpus()
  return {
    node: process.version,
    cpu: cpu?.model ?? 'unknown',
    cores: availableParallelism(),
    load: loadavg(),
  }
}

function rowOf(scenario: ScenarioName, cell: Cell): readonly string[] {
  return [
    String(cell.steps),
    String(cell.runs),
    micros(costOf(cell, 'loopchart', 'cpu')),
    micros(costOf(cell, 'loopchart', 'wall')),
    micros(costOf(cell, 'byHand', 'cpu')),
    micros(costOf(cell, 'byHand', 'wall')),
    ratio(ratioOf(cell, 'cpu')),
    ratio(ratioOf(cell, 'wall')),
    distance(judgeCell(scenario, cell)),
  ]
}

function micros({ median, least }: Spread): string {
  return `${rounded(median)} (${rounded(least)})`
}

function rounded(value: number): string {
  return value.toFixed(value < 100 ? 1 : 0)
}

function ratio({ median, lower, upper }: Spread): string {
  return `${median.toFixed(2)} (${lower.toFixed(2)} to ${upper.toFixed(2)})`
}

function distance({ value, goal, enoughForNow, unit }: Judged): string {
  const what = `goal ${amount(goal, unit)}`
  if (value <= goal) return `${what}: met`
  const over = `${what}: ${amount(value - goal, unit)} above`
  return value <= enoughForNow ? `${over}, enough for now (${amount(enoughForNow, unit)})` : over
}

function amount(value: number, unit: string): string {
  return unit === '' ? value.toFixed(2) : `${value.toFixed(0)} ${unit}`
}

function pad(text: string, width: number, column: number): string {
  return column === header.length - 1 ? text : text.padStart(width)
}
