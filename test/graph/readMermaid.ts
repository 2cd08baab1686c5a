/** What a drawing says, read back with the few constructs that Mermaid's grammar for state diagrams has. */
export interface Diagram {
  readonly states: ReadonlyMap<string, DrawnState>
  readonly edges: readonly DrawnEdge[]
}

export interface DrawnState {
  readonly title: string
  readonly description?: string
  readonly note?: readonly string[]
  /** The state whose block it is declared in; '' for the diagram itself. */
  readonly block: string
}

export interface DrawnEdge {
  readonly from: string
  readonly to: string
  readonly label: string
  readonly block: string
}

const ID = String.raw`[\p{L}\p{N}_]+`
const END = String.raw`(?:\[\*\]|${ID})`
const constructs = {
  open: new RegExp(`^state (?:"(?<title>[^"]+)" as )?(?<id>${ID}) \\{$`, 'u'),
  close: /^\}$/,
  named: new RegExp(`^state "(?<title>[^"]+)" as (?<id>${ID})$`, 'u'),
  bare: new RegExp(`^(?<id>${ID})$`, 'u'),
  description: new RegExp(`^(?<id>${ID}) : (?<text>[^:;#]+)$`, 'u'),
  edge: new RegExp(`^(?<from>${END}) --> (?<to>${END})(?: : (?<label>[^:;#]+))?$`, 'u'),
  note: new RegExp(`^note right of (?<id>${ID})$`, 'u'),
} as const

/** Reads a drawing. Throws on a line that Mermaid would not take, and where an id is declared twice or not at all. */
export function readMermaid(text: string): Diagram {
  const states = new Map<string, DrawnState>()
  const edges: DrawnEdge[] = []
  const blocks: string[] = []
  const [header, ...lines] = text.split('\n').map((line) => line.trim())
  if (header !== 'stateDiagram-v2') throw new Error(`Not a state diagram: ${header}`)

  const here = (): string => blocks.at(-1) ?? ''
  const declare = (id: string, title = id): void => {
    if (states.has(id)) throw new Error(`Declared twice: ${id}`)
    states.set(id, { title, block: here() })
  }
  const add = (id: string, facts: Partial<DrawnState>): void => {
    const state = states.get(id)
    if (state === undefined) throw new Error(`Not declared: ${id}`)
    states.set(id, { ...state, ...facts })
  }

  while (lines.length > 0) {
    const line = lines.shift() ?? ''
    const found = Object.entries(constructs).find(([, pattern]) => pattern.test(line))
    if (found === undefined) throw new Error(`Mermaid does not take this line: ${line}`)
    const [construct, pattern] = found
    const {
      id = '',
      title,
      text: words = '',
      from = '',
      to = '',
      label = '',
    } = pattern.exec(line)?.groups ?? {}
    if (construct === 'open') {
      declare(id, title)
      blocks.push(id)
    } else if (construct === 'close') {
      if (blocks.pop() === undefined) throw new Error('A block is closed that was not opened.')
    } else if (construct === 'named' || construct === 'bare') {
      declare(id, title)
    } else if (construct === 'description') {
      add(id, { description: words })
    } else if (construct === 'edge') {
      edges.push({ from, to, label, block: here() })
    } else {
      const end = lines.indexOf('end note')
      if (end === -1) throw new Error(`The note beside ${id} does not end.`)
      add(id, { note: lines.splice(0, end + 1).slice(0, -1) })
    }
  }
  if (blocks.length > 0) throw new Error(`Not closed: ${blocks.join(', ')}`)
  for (const end of edges.flatMap(({ from, to }) => [from, to])) {
    if (end !== '[*]' && !states.has(end))
      throw new Error(`An edge names a state that is not declared: ${end}`)
  }
  return { states, edges }
}
