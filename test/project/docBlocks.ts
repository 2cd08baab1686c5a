/** A piece of TypeScript in a document. */
export interface CodeBlock {
  readonly document: string
  /** The line of the document that is the first line of the code, counted from 1. */
  readonly line: number
  readonly code: string
}

const FENCE = /^(?<indent> *)```(?:ts|typescript)(?<info>[^\n]*)\n(?<code>[\s\S]*?)^ *``` *$/gm

/** The ```ts blocks of a document, but for those that say ```ts ignore. */
export function blocksOf(document: string, markdown: string): readonly CodeBlock[] {
  return [...markdown.matchAll(FENCE)].flatMap(({ index, groups }) => {
    const { indent = '', info = '', code = '' } = groups ?? {}
    if (!/^(?:\s|$)/.test(info) || /\bignore\b/.test(info)) return []
    const line = markdown.slice(0, index).split('\n').length + 1
    return [{ document, line, code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), '') }]
  })
}
