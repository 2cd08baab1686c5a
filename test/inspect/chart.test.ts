import { describe, expect, it } from 'vitest'
import type { AnyStateNode } from 'xstate'
import { drawAgentChart } from '../../scripts/drawAgentChart.ts'
import { edgesOf } from '../../src/graph/index.ts'
import { chartDrawing, edgeKey } from '../../src/inspect/chart.ts'
import { edgeName, stateName } from '../../src/machines/edgeNames.ts'
import { createAgentMachine } from '../../src/machines/index.ts'
import { PureMachine } from '../../src/runtime/pureMachine.ts'

const { svg, states, edges } = chartDrawing()
const machine = createAgentMachine()
const ids = [...svg.matchAll(/<g id="([^"]+)"/g)].map(([, id]) => id)

function descendantsOf(state: AnyStateNode): AnyStateNode[] {
  return Object.values(state.states).flatMap((child) => [child, ...descendantsOf(child)])
}

describe("the inspector's drawing of the chart", () => {
  it('is the one of the machine as it is now', async () => {
    expect(chartDrawing(), 'run: npm run draw').toEqual(await drawAgentChart())
  })

  it('has an element for every state, by the name that events use', () => {
    const names = descendantsOf(machine.root).map(stateName)
    expect(names).toContain('thinking.backingOff')
    expect(Object.keys(states).toSorted()).toEqual(names.toSorted())
    for (const id of Object.values(states)) expect(ids).toContain(id)
  })

  it('has an element of its own for every edge', () => {
    expect(Object.keys(edges).toSorted()).toEqual(edgesOf(machine).map(edgeKey).toSorted())
    expect(new Set(Object.values(edges)).size).toBe(edgesOf(machine).length)
    for (const id of Object.values(edges)) expect(ids).toContain(id)
  })

  it('is found with the transitions of a run', () => {
    const pure = new PureMachine(machine)
    const { snapshot } = pure.start('Hello?')
    const { taken } = pure.step(snapshot, { type: 'CANCEL' }, true)
    expect(taken.map((edge) => edges[edgeKey(edgeName(edge))])).toEqual(['edge_agent_CANCEL_aborted'])
  })

  it('gives no element twice', () => {
    expect(new Set(ids).size).toBe(ids.length)
  })
})
