/** One import (or re-export) of a source file. */
export interface Import {
  readonly specifier: string
  /** Whether nothing of it is left at run time. `import { type A } from` is not: it still loads the module. */
  readonly typeOnly: boolean
}

const STATEMENT = new RegExp(
  [
    /^(?:import|export)(?<typeOnly>\s+type\b(?!\s+from\b))?\s*/,
    /(?:(?:[\w$]+\s*,?\s*)?(?:\*(?:\s+as\s+[\w$]+)?|\{[^}]*\})?\s*from\s*)?/,
    /['"](?<specifier>[^'"]+)['"]/,
  ]
    .map(({ source }) => source)
    .join(''),
  'gm',
)
const CALL = /(?<typeOnly>typeof\s+)?\bimport\(\s*['"](?<specifier>[^'"]+)['"]/g

export function importsOf(source: string): readonly Import[] {
  const code = withoutComments(source)
  return [...code.matchAll(STATEMENT), ...code.matchAll(CALL)].map(({ groups }) => ({
    specifier: groups?.specifier ?? '',
    typeOnly: groups?.typeOnly !== undefined,
  }))
}

/** Source text without comments: block comments, and line comments that have a line or its end for themselves. */
export function withoutComments(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1')
}

/** Source text without what is said in quotes; code inside a template stays. */
export function withoutStrings(source: string): string {
  return source
    .replace(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g, "''")
    .replace(/`(?:[^`\\]|\\.)*`/g, (template) => (template.match(/\$\{[^}]*\}/g) ?? []).join(' '))
}
