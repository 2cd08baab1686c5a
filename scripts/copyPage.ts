// Puts beside the compiled page of the inspector what is not compiled: its markup, its styles, and preact with its licence.
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const source = 'src/inspect/page'
const built = 'dist/inspect/page'
const { resolve } = createRequire(import.meta.url)

const files = readdirSync(source, { recursive: true }).map(String)
for (const file of files.filter((name) => /\.(?:html|css)$/.test(name)))
  copy(join(source, file), join(built, file))
copy(resolve('preact'), join(built, 'preact/preact.mjs'))
copy(resolve('preact/hooks'), join(built, 'preact/hooks.mjs'))
copy(join(dirname(resolve('preact/package.json')), 'LICENSE'), join(built, 'preact/LICENSE'))

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true })
  copyFileSync(from, to)
}
