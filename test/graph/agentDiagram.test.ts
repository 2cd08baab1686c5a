import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { AnyStateNode } from 'xstate'
import { agentDiagram } from '../../src/graph/index.ts'
import { createAgentMachine, resolveSettings } from '../../src/machines/index.ts'
import { readMermaid } from './readMermaid.ts'

const { root } = createAgentMachine()
const states = descendantsOf(root)
const diagram = readMermaid(agentDiagram())

function descendantsOf(state: AnyStateNode): AnyStateNode[] {
  return Object.values(state.states).flatMap((child) => [child, ...descendantsOf(child)])
}

const idOf = ({ path }: AnyStateNode): string => path.join('_')

describe('the drawing of the agent', () => {
  it('has every state of the machine, each within its parent', () => {
    const drawn = [...diagram.states]
      .map(([id, { block }]) => ({ id, block }))
      .filter(({ id }) => id !== 'any')
    const expected = states.map((state) => ({
      id: idOf(state),
      block: state.parent ? idOf(state.parent) : '',
    }))
    expect(drawn).toEqual(expected)
    expect(drawn).toContainEqual({ id: 'thinking_backingOff', block: 'thinking' })
  })

  it('has every edge of the machine, and no other', () => {
    const drawn = diagram.edges.filter(({ from, to }) => from !== '[*]' && to !== '[*]')
    const expected = [root, ...states].flatMap((state) => {
      const transitions = [...[...state.transitions.values()].flat(), ...(state.always ?? [])]
      return transitions.map(({ target, guard }) => {
        const from = state === root ? 'any' : idOf(state)
        const name: unknown = typeof guard === 'object' ? guard.type : guard
        return `${from} → ${target?.[0] ? idOf(target[0]) : from} ${typeof name === 'string' ? `[${name}]` : ''}`
      })
    })
    const summary = drawn.map(({ from, to, label }) => {
      const guard = /\[(?!else)\w+\]/.exec(label)?.[0] ?? ''
      return `${from} → ${to} ${guard}`
    })
    expect(expected.length).toBeGreaterThan(30)
    expect(summary.toSorted()).toEqual(expected.toSorted())
  })

  it('has the edges that need no event, in the order in which they are tried', () => {
    const fromParsing = diagram.edges.filter(({ from }) => from === 'parsing').map(({ label }) => label)
    expect(fromParsing).toEqual([
      'always [isRefused]',
      'always [needsApproval]',
      'always [hasCalls]',
      'always [isFinalAnswer]',
      'always [limitAborts]',
      'always [limitConcludes]',
      'always [else]',
    ])
  })

  it('marks where it and each composite state begin, and where it ends', () => {
    const begins = diagram.edges.filter(({ from }) => from === '[*]').map(({ to, block }) => ({ to, block }))
    expect(begins).toEqual([
      { to: 'observing', block: '' },
      { to: 'thinking_calling', block: 'thinking' },
      { to: 'observing_recording', block: 'observing' },
      { to: 'concluding_calling', block: 'concluding' },
    ])
    expect(diagram.edges.filter(({ to }) => to === '[*]').map(({ from }) => from)).toEqual([
      'done',
      'aborted',
    ])
  })

  it('lists the limits with their thresholds and reactions where they are judged', () => {
    expect(diagram.states.get('observing_recording')?.note).toEqual([
      'Limits',
      'steps 8 → conclude',
      'repeats 2 → warn, 3 → conclude',
      'errorStreak 3 → conclude',
      'stagnation 2 → warn, 3 → conclude',
      'malformed 2 → abort',
      'time off',
      'tokens off',
      'cost off',
      'toolCalls off',
      'sameCalls off',
    ])
  })

  it('shows the thresholds of the settings that it is given, and which limits are off', () => {
    const settings = resolveSettings({ limits: { steps: 21, errorStreak: Number.POSITIVE_INFINITY } })
    const { states: drawn } = readMermaid(agentDiagram(settings))
    const note = drawn.get('observing_recording')?.note
    expect(note).toContain('steps 21 → conclude')
    expect(note).toContain('errorStreak off')
  })

  it('is the one in docs/architecture.md', () => {
    const document = new URL('../../docs/architecture.md', import.meta.url)
    const text = existsSync(document) ? readFileSync(document, 'utf8') : ''
    const block = /<!-- chart: loopchart graph -->\s*```mermaid\n(?<chart>.*?)\n```/s.exec(text)?.groups
      ?.chart
    expect(
      block,
      'docs/architecture.md needs the marker <!-- chart: loopchart graph --> and after it a ```mermaid block',
    ).toBeDefined()
    expect(block).toBe(agentDiagram())
  })
})
