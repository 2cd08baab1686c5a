/** An element of a picture. */
export interface Element {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: Element[]
  /** What stands directly in it. */
  text: string
}

const TAG = /^<(?<close>\/?)(?<name>[\w:]+)(?<attributes>(?:\s+[\w:-]+="[^"<]*")*)\s*(?<alone>\/?)>/
const TEXT = /^[^<&]+/
const REFERENCE = /^&(?:#(?<decimal>\d+)|#x(?<hex>[0-9a-f]+)|(?<name>lt|gt|amp|quot|apos));/i
const NAMED: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

/** Reads XML without declarations and comments. Throws where it is not well-formed. */
export function readXml(xml: string): Element {
  const root: Element = { name: '', attributes: {}, children: [], text: '' }
  const open = [root]
  let rest = xml
  while (rest !== '') {
    const here = open.at(-1)
    if (here === undefined) throw new Error(`Nothing is open: ${rest.slice(0, 80)}`)
    const tag = TAG.exec(rest)
    if (tag?.groups?.close === '/') {
      if (open.pop()?.name !== tag.groups.name) throw new Error(`Closed in the wrong order: ${tag[0]}`)
    } else if (tag !== null) {
      const { name = '', attributes = '', alone } = tag.groups ?? {}
      const element: Element = { name, attributes: attributesIn(attributes), children: [], text: '' }
      here.children.push(element)
      if (alone !== '/') open.push(element)
    } else {
      here.text += readText(rest)
    }
    rest = rest.slice(tag?.[0].length ?? lengthOfText(rest))
  }
  const [only, ...more] = root.children
  if (open.length !== 1 || only === undefined || more.length > 0)
    throw new Error('There must be one element.')
  return only
}

export function withDescendants(element: Element): readonly Element[] {
  return [element, ...element.children.flatMap(withDescendants)]
}

function attributesIn(text: string): Readonly<Record<string, string>> {
  const found = [...text.matchAll(/([\w:-]+)="([^"]*)"/g)]
  const names = found.map(([, name = '']) => name)
  if (new Set(names).size < names.length) throw new Error(`An attribute is given twice: ${text}`)
  return Object.fromEntries(found.map(([, name = '', value = '']) => [name, decoded(value)]))
}

function decoded(text: string): string {
  let rest = text
  let result = ''
  while (rest !== '') {
    result += readText(rest)
    rest = rest.slice(lengthOfText(rest))
  }
  return result
}

function lengthOfText(rest: string): number {
  return (TEXT.exec(rest) ?? REFERENCE.exec(rest))?.[0].length ?? 0
}

function readText(rest: string): string {
  const plain = TEXT.exec(rest)?.[0]
  if (plain !== undefined) return plain
  const { decimal, hex, name } = REFERENCE.exec(rest)?.groups ?? {}
  if (decimal !== undefined) return String.fromCodePoint(Number(decimal))
  if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16))
  const named = NAMED[name ?? '']
  if (named === undefined) throw new Error(`Not well-formed: ${rest.slice(0, 80)}`)
  return named
}
