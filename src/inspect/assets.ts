import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { createRequire, stripTypeScriptTypes } from 'node:module'

/** A file of the inspector's page, ready to be served. */
export interface Asset {
  readonly body: string
  /** The media type. */
  readonly type: string
  /** Headers of its own: the content security policy of the page itself. */
  readonly headers?: Readonly<Record<string, string>>
}

const PAGE = new URL('./page/', import.meta.url)

/** Whether Node runs the sources themselves, so that a browser has to be given them without their types. */
const fromSources = import.meta.url.endsWith('.ts')

const modules = fromSources ? '.ts' : '.js'

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  mjs: 'text/javascript; charset=utf-8',
}

/** Packages that the page imports, by the path under which it does. `npm run build` copies them beside the page. */
const packages: Readonly<Record<string, string>> = {
  'page/preact/preact.mjs': 'preact',
  'page/preact/hooks.mjs': 'preact/hooks',
}

/** Every file that there is to serve, by the path under which it is served. No other path leads to a file. */
const files: ReadonlyMap<string, URL> = knownFiles()

/** Files that were read, each as it was when it was changed last. */
const kept = new Map<string, { readonly changedAt: number; readonly asset: Promise<Asset> }>()

/**
 * A file of the inspector's page by its path below the place where the inspector is mounted: `''` or `index.html` for the
 * page itself. Undefined where there is none. A path is only looked up among the known ones, so none leads elsewhere.
 *
 * The page's addresses are relative: it has to be mounted at one that ends with a slash.
 */
export async function asset(path: string): Promise<Asset | undefined> {
  const name = path === '' ? 'index.html' : path
  const file = files.get(name)
  if (file === undefined) return undefined
  // Whoever changes the page wants to see it after a reload.
  const changedAt = fromSources ? (await stat(file)).mtimeMs : 0
  const known = kept.get(name)
  if (known?.changedAt === changedAt) return known.asset
  const read = readAsset(file)
  kept.set(name, { changedAt, asset: read })
  return read
}

function knownFiles(): ReadonlyMap<string, URL> {
  const entries = readdirSync(PAGE, { recursive: true }).map((entry) => String(entry).replaceAll('\\', '/'))
  const pages = entries.filter((entry) => entry.endsWith(modules) || entry.endsWith('.css'))
  const known = new Map(pages.map((entry) => [`page/${entry}`, new URL(entry, PAGE)]))
  known.set('index.html', new URL('index.html', PAGE))
  known.set('page/main.js', new URL(`main${modules}`, PAGE))
  known.set(`edgeKey${modules}`, new URL(`./edgeKey${modules}`, import.meta.url))
  const { resolve } = createRequire(import.meta.url)
  for (const [path, specifier] of Object.entries(packages)) {
    const built = new URL(path.slice('page/'.length), PAGE)
    known.set(path, fromSources ? new URL(`file://${resolve(specifier)}`) : built)
  }
  return known
}

async function readAsset(file: URL): Promise<Asset> {
  const text = await readFile(file, 'utf8')
  const extension = file.pathname.slice(file.pathname.lastIndexOf('.') + 1)
  if (extension === 'ts') return { body: withoutTypes(text), type: types.js ?? '' }
  const asset = { body: text, type: types[extension] ?? 'application/octet-stream' }
  return extension === 'html' ? { ...asset, headers: headersOf(text) } : asset
}

/** Only what comes from here runs, and the one inline script is the map that says where preact is. */
function headersOf(html: string): Readonly<Record<string, string>> {
  const [, importMap = ''] = /<script type="importmap">([\s\S]*?)<\/script>/.exec(html) ?? []
  const hash = createHash('sha256').update(importMap).digest('base64')
  const policy = [
    "default-src 'none'",
    `script-src 'self' 'sha256-${hash}'`,
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ]
  return { 'content-security-policy': policy.join('; ') }
}

/** JavaScript with the same lines and columns. Node warns of its own function, which is no news to whoever runs sources. */
function withoutTypes(source: string): string {
  const { emitWarning } = process
  process.emitWarning = (warning, ...rest) => {
    if (!String(warning).includes('stripTypeScriptTypes'))
      Reflect.apply(emitWarning, process, [warning, ...rest])
  }
  try {
    return stripTypeScriptTypes(source)
  } finally {
    process.emitWarning = emitWarning
  }
}
