/** A change to one file that makes the loop wrong. */
export interface Mutant {
  readonly file: string
  /** Where in the file the change begins. */
  readonly at: number
  readonly from: string
  readonly to: string
}

/** The guards, as the chart names them: each is taken for its opposite, for always true and for never true. */
export function guardMutants(file: string, source: string): readonly Mutant[] {
  return [...source.matchAll(/(?<==> )guards\.\w+\([^)]*\)/g)].flatMap(({ 0: call, index: at }) =>
    [`!${call}`, 'true', 'false'].map((to) => ({ file, at, from: call, to })),
  )
}

const beyond: Readonly<Record<string, string>> = { '>=': '>', '>': '>=', '<=': '<', '<': '<=' }

/** Every comparison with a threshold, off by one. Loops and comments are left alone. */
export function boundaryMutants(file: string, source: string): readonly Mutant[] {
  return [...source.matchAll(/(?<!\bfor \(.*|^ *(?:\*|\/\/|\/\*).*) (?<operator>[<>]=?) /gm)].map((found) => {
    const operator = found.groups?.operator ?? ''
    return { file, at: found.index, from: ` ${operator} `, to: ` ${beyond[operator]} ` }
  })
}

/** Each limit, left out of those that are judged. */
export function missingLimits(file: string, source: string): readonly Mutant[] {
  const list = /const limits: readonly Limit\[\] = \[\n(?<names>(?: {2}\w+,\n)+)\]/d.exec(source)
  const [start = 0] = list?.indices?.groups?.names ?? []
  return [...(list?.groups?.names ?? '').matchAll(/ {2}\w+,\n/g)].map(({ 0: line, index }) => ({
    file,
    at: start + index,
    from: line,
    to: '',
  }))
}

/** A change that is written by hand. */
export function handMade(file: string, source: string, from: string, to: string): Mutant {
  const at = source.indexOf(from)
  if (at === -1) throw new Error(`${file} no longer holds: ${from}`)
  return { file, at, from, to }
}
