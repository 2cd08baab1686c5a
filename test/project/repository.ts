import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The root of the repository, with a slash at its end. */
export const root: string = fileURLToPath(new URL('../../', import.meta.url))

/** Paths of all files below a folder, relative to the repository, with slashes. Empty where there is no such folder. */
export function filesIn(folder: string): readonly string[] {
  if (!existsSync(root + folder)) return []
  const entries = readdirSync(root + folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => `${parentPath}/${name}`.replaceAll('\\', '/').slice(root.length))
    .toSorted()
}

export function read(path: string): string {
  return readFileSync(root + path, 'utf8')
}

/** The documents that people read: both READMEs, everything in docs/ and beside the examples, as far as they exist. */
export function documents(): readonly string[] {
  return [
    ...['README.md', 'README.zh-CN.md'].filter((path) => existsSync(root + path)),
    ...['docs', 'examples'].flatMap(filesIn).filter((path) => path.endsWith('.md')),
  ]
}

export interface Manifest {
  readonly name: string
  readonly version: string
  readonly bin: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>
}

export const manifest: Manifest = JSON.parse(read('package.json'))

/** What users import (`loopchart/graph`), the file that they get, and the source that it is built from. */
export const entryPoints: readonly EntryPoint[] = Object.entries(manifest.exports).flatMap(
  ([subpath, target]) =>
    typeof target === 'string'
      ? []
      : [{ specifier: manifest.name + subpath.slice(1), built: target, source: sourceOf(target.default) }],
)

export interface EntryPoint {
  readonly specifier: string
  readonly built: { readonly types: string; readonly default: string }
  readonly source: string
}

/** `src/graph/index.ts` for `./dist/graph/index.js`. */
export function sourceOf(built: string): string {
  return built.replace(/^(?:\.\/)?dist\//, 'src/').replace(/\.js$/, '.ts')
}
