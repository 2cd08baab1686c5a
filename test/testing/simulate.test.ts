import { afterEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { type AgentOptions, type CustomLimit, createAgent, defineTool } from '../../src/index.ts'
import { type Faults, type SimulateOptions, scriptedModel, simulate } from '../../src/testing/index.ts'
import { distributionOf } from '../../src/testing/simulation/distribution.ts'
import { rejectionOf } from '../support/outcome.ts'
import { countingAdd } from '../support/tools.ts'

afterEach(() => {
  vi.useRealTimers()
})

function agentWith(options: Partial<AgentOptions> = {}) {
  return createAgent({ model: scriptedModel([]), tools: [countingAdd()], ...options })
}

const faults = {
  modelError: 0.1,
  modelHang: 0.02,
  malformed: 0.1,
  badCall: 0.1,
  toolError: 0.2,
  toolHang: 0.02,
}

describe('a distribution', () => {
  it('has values that occurred, by nearest rank', () => {
    const hundred = Array.from({ length: 100 }, (_, i) => 100 - i)
    expect(distributionOf(hundred)).toEqual({ p50: 50, p90: 90, p99: 99, max: 100 })
    expect(distributionOf([3, 1])).toEqual({ p50: 1, p90: 3, p99: 3, max: 3 })
    expect(distributionOf([])).toEqual({ p50: 0, p90: 0, p99: 0, max: 0 })
  })
})

describe('simulate', () => {
  it('gives the same report for the same seed, and another for another', async () => {
    const once = String(await simulate(agentWith(), { runs: 60, faults }))
    expect(String(await simulate(agentWith(), { runs: 60, faults }))).toBe(once)
    expect(String(await simulate(agentWith(), { runs: 60, faults, seed: 2 }))).not.toBe(once)
  })

  it('counts how the runs end', async () => {
    const statuses: string[] = []
    const report = await simulate(agentWith(), {
      runs: 80,
      faults,
      onOutcome: ({ status }) => statuses.push(status),
    })
    expect(report.runs).toBe(80)
    expect(statuses).toHaveLength(80)
    expect(report.answered).toBe(statuses.filter((status) => status === 'done').length)
    expect(Object.values(report.endings).reduce((sum, count) => sum + count)).toBe(80)
    const byLimits = Object.values(report.stoppedBy).reduce((sum, count) => sum + count, 0)
    expect(byLimits).toBeGreaterThan(0)
    expect(byLimits).toBeLessThan(80)
  })

  it('answers always where nothing goes wrong', async () => {
    const report = await simulate(agentWith(), { runs: 30, answerRate: 1 })
    expect(report.endings).toEqual({ done: 30 })
    expect(report.steps).toEqual({ p50: 1, p90: 1, p99: 1, max: 1 })
    expect(report.toolCalls.max).toBe(0)
    expect(report.ms.p50).toBeGreaterThanOrEqual(500)
    expect(report.ms.max).toBeLessThanOrEqual(3000)
  })

  it.each<[string, Partial<Faults>, Record<string, number>]>([
    ['modelError', { modelError: 1 }, { 'aborted (model_error)': 5 }],
    ['modelFailure', { modelFailure: 1 }, { 'aborted (model_error)': 5 }],
    ['modelHang', { modelHang: 1 }, { 'aborted (model_error)': 5 }],
    ['badCall', { badCall: 1 }, { 'aborted (no_closing_answer)': 5 }],
    ['refusal', { refusal: 1 }, { 'aborted (content_filter)': 5 }],
    ['toolError', { toolError: 1 }, { 'done (errorStreak)': 5 }],
    ['toolHang', { toolHang: 1 }, { 'done (errorStreak)': 5 }],
  ])('lets %s happen', async (_name, all, endings) => {
    expect((await simulate(agentWith(), { runs: 5, faults: all, answerRate: 0 })).endings).toEqual(endings)
  })

  it('adds up the chances of what can go wrong with one call', async () => {
    const half = { modelError: 0.5, refusal: 0.5 }
    const { endings } = await simulate(agentWith({ modelRetries: 0 }), { runs: 40, faults: half })
    expect(Object.keys(endings).toSorted()).toEqual(['aborted (content_filter)', 'aborted (model_error)'])
  })

  it('lets replies be malformed, in every way that there is', async () => {
    const agent = createAgent({ model: scriptedModel([]), output: z.object({ n: z.number() }) })
    const { endings } = await simulate(agent, { runs: 60, faults: { malformed: 1 } })
    expect(Object.keys(endings).toSorted()).toEqual([
      'aborted (empty_response)',
      'aborted (malformed_response)',
      'aborted (truncated_response)',
    ])
  })

  it('takes virtual time for latencies, time-outs and back-off', async () => {
    // Nobody advances these timers: whatever waited for one would wait for ever.
    vi.useFakeTimers()
    const agent = agentWith({ modelTimeoutMs: 60_000, modelRetries: 2 })
    const hanging = await simulate(agent, { runs: 20, faults: { modelHang: 1 } })
    // Three attempts, with waits of at most 500 and 1000 ms between them.
    expect(hanging.ms.p50).toBeGreaterThanOrEqual(180_000)
    expect(hanging.ms.max).toBeLessThanOrEqual(181_500)
    const fixed = await simulate(agent, {
      runs: 3,
      modelLatencyMs: 100,
      toolLatencyMs: () => 7,
      behaviour: ({ call, tools, callOf, answer }) => (call === 1 ? { calls: tools.map(callOf) } : answer),
    })
    expect(fixed.ms).toEqual({ p50: 207, p90: 207, p99: 207, max: 207 })
  })

  it('lets the limit of time and limits of the user’s own see virtual time', async () => {
    const elapsed: number[] = []
    const look: CustomLimit = ({ elapsedMs }) => void elapsed.push(elapsedMs)
    const agent = agentWith({ limits: { time: 10_000, steps: 20 }, customLimits: { look } })
    const report = await simulate(agent, {
      runs: 2,
      answerRate: 0,
      modelLatencyMs: 3000,
      toolLatencyMs: 500,
    })
    // Two steps of 3500 ms; the third is given up after 8000 ms, and the closing answer would take until 11000 ms.
    expect(report.endings).toEqual({ 'aborted (timeout)': 2 })
    expect(report.ms.max).toBe(10_000)
    expect(elapsed).toEqual([3500, 7000, 3500, 7000])
  })

  it('leaves the time in which a person decides out of the limit of time', async () => {
    const tool = { ...countingAdd(), needsApproval: true }
    const agent = agentWith({ tools: [tool], limits: { time: { conclude: 5000 }, steps: 20 } })
    const report = await simulate(agent, {
      runs: 2,
      answerRate: 0,
      modelLatencyMs: 1000,
      toolLatencyMs: 1000,
    })
    expect(report.endings).toEqual({ 'done (time)': 2 })
    expect(report.ms.max).toBe(6000)
  })

  it('estimates tokens, unless the model of the user says how many', async () => {
    const estimated = await simulate(agentWith(), { runs: 3, answerRate: 1 })
    expect(estimated.tokens.max).toBeGreaterThan(20)
    const behaviour = () => ({ text: 'yes', usage: { inputTokens: 5, outputTokens: 2 } })
    expect((await simulate(agentWith(), { runs: 3, behaviour })).tokens.max).toBe(7)
  })

  it('lets a person approve as often as is said', async () => {
    const tool = defineTool({ ...countingAdd(), input: z.object({}), needsApproval: true, run: () => 1 })
    const agent = agentWith({ tools: [tool], limits: { steps: 2 } })
    const rejected: unknown[] = []
    await simulate(agent, {
      runs: 4,
      approvalRate: 0,
      answerRate: 0,
      onOutcome: ({ transcript }) => rejected.push(transcript.find(({ role }) => role === 'tool')?.content),
    })
    expect(rejected).toEqual(Array(4).fill(expect.stringContaining('Error (denied)')))
    const { toolCalls } = await simulate(agent, { runs: 4, answerRate: 0 })
    expect(toolCalls.p50).toBe(2)
  })

  it('picks of the samples and results that it is given, and runs no tool', async () => {
    const add = countingAdd()
    const samples = {
      add: [
        { a: 1, b: 2 },
        { a: 3, b: 4 },
      ],
    }
    const texts = new Set<unknown>()
    await simulate(agentWith({ tools: [add] }), {
      runs: 20,
      samples,
      results: { add: [3, 7] },
      onOutcome: ({ transcript }) => {
        for (const message of transcript) {
          if (message.role === 'tool') texts.add(message.content)
          if (message.role === 'assistant') texts.add(message.tool_calls?.[0]?.function.arguments)
        }
      },
    })
    expect([...texts]).toEqual(expect.arrayContaining(['{"a":1,"b":2}', '{"a":3,"b":4}', '3', '7']))
    expect(add.runs).toEqual([])
  })

  it('prints a table', async () => {
    const behaviour = () => ({ text: 'yes', usage: { inputTokens: 5, outputTokens: 2 } })
    const report = await simulate(agentWith(), { runs: 4, behaviour, modelLatencyMs: 1500 })
    expect(String(report)).toBe(`4 runs, seed 1: 100.0 % answered

ending                               runs    share
done                                    4  100.0 %

                                      p50      p90      p99      max
steps                                   1        1        1        1
tool calls                              0        0        0        0
tokens                                  7        7        7        7
milliseconds                         1500     1500     1500     1500`)
  })

  it.each<[string, SimulateOptions, RegExp]>([
    ['runs', { runs: 0 }, /runs must be a whole number/],
    ['a rate above 1', { answerRate: 2 }, /answerRate must be a chance from 0 to 1, not 2/],
    ['a rate that is no number', { approvalRate: Number.NaN }, /approvalRate/],
    ['a fault that there is not', { faults: { hang: 1 } as Partial<Faults> }, /no fault "hang"/],
    ['a fault below 0', { faults: { toolError: -1 } }, /faults\.toolError/],
    ['a latency below 0', { modelLatencyMs: -5 }, /modelLatencyMs must be milliseconds/],
    ['a latency that ends before it begins', { toolLatencyMs: [9, 1] }, /toolLatencyMs/],
  ])('refuses %s', async (_name, options, message) => {
    const thrown = await rejectionOf(simulate(agentWith(), options))
    expect(thrown).toMatchObject({ code: 'invalid_option', message: expect.stringMatching(message) })
  })

  it('passes on what the behaviour of the user throws', async () => {
    const behaviour = (): never => {
      throw new Error('a mistake in the simulation')
    }
    expect(await rejectionOf(simulate(agentWith(), { behaviour }))).toMatchObject({
      message: 'a mistake in the simulation',
    })
  })
})
