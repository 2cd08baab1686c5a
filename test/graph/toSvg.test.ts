import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createMachine } from 'xstate'
import { agentSvg, toSvg } from '../../src/graph/index.ts'
import { type Element, readXml, withDescendants } from './readXml.ts'

const titleOf = ({ children }: Element) => children.find(({ name }) => name === 'title')?.text
const linesOf = ({ children }: Element) =>
  children.filter(({ name }) => name === 'text').map(({ text }) => text)

function groupsOf(svg: string): ReadonlyMap<string, Element> {
  const groups = withDescendants(readXml(svg)).filter(({ name }) => name === 'g')
  return new Map(groups.map((group) => [group.attributes.id ?? '', group]))
}

describe('the agent as SVG', async () => {
  const svg = await agentSvg()
  const picture = readXml(svg)
  const groups = groupsOf(svg)

  it('is a picture with a name, which fits where it is put', () => {
    expect(picture.attributes).toMatchObject({ role: 'img', 'aria-label': 'The agent loop' })
    expect(titleOf(picture)).toBe('The agent loop')
    expect(picture.attributes.viewBox).toMatch(/^0 0 \d+ \d+$/)
  })

  it('says of each state and edge what it is', () => {
    const parsing = groups.get('state_parsing')
    expect(parsing?.attributes.class).toBe('node state transient')
    expect(parsing && titleOf(parsing)).toBe('parsing: What did the model ask for?')
    const calls = groups.get('edge_parsing_always_hasCalls_executingTools')
    expect(calls?.attributes.class).toBe('edge always guarded')
    expect(calls && titleOf(calls)).toBe('parsing → executingTools: always [hasCalls]')
    expect(groups.get('state_thinking')?.attributes.class).toBe('cluster state composite')
  })

  it('names nothing by an id of Graphviz', () => {
    const titles = withDescendants(picture).filter(({ name }) => name === 'title')
    expect(titles.map(({ text }) => text).filter((text) => /->|state_|cluster_|%/.test(text))).toEqual([])
  })

  it('has nothing in it that a strict content policy refuses, or that is loaded', () => {
    const elements = withDescendants(picture)
    expect(new Set(elements.map(({ name }) => name))).toEqual(
      new Set(['svg', 'title', 'g', 'path', 'polygon', 'polyline', 'ellipse', 'text']),
    )
    const attributes = new Set(elements.flatMap((element) => Object.keys(element.attributes)))
    for (const name of attributes) expect(name).not.toMatch(/^on|style|href/)
  })
})

describe('text in the SVG of any machine', () => {
  const key = String.raw`<script>"alert('1')"</script> \N\G &lt; ]]> -->`
  const machine = createMachine({
    id: key,
    initial: key,
    states: {
      [key]: { description: `${key}\u0000\u{d800}`, id: 'only', on: { [key]: '#only' } },
    },
  })

  it('is shown as it is, and does nothing', async () => {
    const svg = await toSvg(machine, { notes: { [key]: [key] } })
    const [state] = [...groupsOf(svg)].filter(([id]) => id.startsWith('state_')).map(([, group]) => group)
    expect(state && linesOf(state)[0]).toBe(key)
    expect(state && titleOf(state)).toBe(`${key}: ${key}\ufffd\ufffd`)
    const [edge] = [...groupsOf(svg)].filter(([id]) => id.startsWith('edge_')).map(([, group]) => group)
    expect(edge && linesOf(edge)).toEqual([`\u00a0${key}\u00a0`])
    expect(svg).not.toContain('<script')
    expect(readXml(svg).attributes['aria-label']).toBe(key)
  })

  it('leaves the picture well-formed and every element where it is found, whatever it is', async () => {
    const name = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
      .filter((text) => !/[.#]/.test(text))
    const names = fc.uniqueArray(name, { minLength: 2, maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(names, fc.string({ unit: 'binary' }), async (keys, description) => {
        const [first = ''] = keys
        const drawn = createMachine({
          initial: first,
          states: Object.fromEntries(
            keys.map((each, i) => [
              each,
              {
                description,
                on: { [`E${i}`]: keys.map((target) => ({ target: `#m${keys.indexOf(target)}` })) },
                id: `m${i}`,
              },
            ]),
          ),
        })
        const groups = groupsOf(await toSvg(drawn))
        expect([...groups.keys()].filter((id) => id.startsWith('state_'))).toHaveLength(keys.length)
        expect([...groups.keys()].filter((id) => id.startsWith('edge_'))).toHaveLength(keys.length ** 2)
      }),
      { numRuns: 40 },
    )
  })
})
