import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { asset } from '../../src/inspect/assets.ts'
import { filesIn, read } from '../project/repository.ts'

describe('the files of the page', () => {
  it('are the markup, its styles, its modules and preact, and nothing that leads elsewhere', async () => {
    const page = await asset('index.html')
    expect(page?.type).toContain('text/html')
    expect(await asset('')).toEqual(page)
    for (const path of [
      '../assets.ts',
      'page/../assets.ts',
      'assets.ts',
      'page/%2e%2e/assets.ts',
      'page',
      'x',
    ])
      expect(await asset(path)).toBeUndefined()
  })

  it('are all there: whatever one of them asks for is served', async () => {
    const seen = new Set<string>()
    const wanted = ['index.html']
    for (let path = wanted.pop(); path !== undefined; path = wanted.pop()) {
      if (seen.has(path)) continue
      seen.add(path)
      const found = await asset(path)
      expect(found, path).toBeDefined()
      wanted.push(...askedFor(path, found?.body ?? ''))
    }
    const sources = filesIn('src/inspect/page').filter((file) => file.endsWith('.ts'))
    for (const file of sources.filter((name) => !name.endsWith('/main.ts')))
      if (!isTypesOnly(file)) expect(seen).toContain(file.replace('src/inspect/', ''))
    expect(seen).toContain('page/preact/preact.mjs')
  })

  it('come from here: none of them names another address', async () => {
    for (const file of filesIn('src/inspect/page')) {
      const loads = /(?:src|href|url|import|from)\s*[=(]?\s*["'(](?:https?:)?\/\/[^"')]+/i.exec(read(file))
      expect(loads?.[0], file).toBeUndefined()
    }
  })

  it('are JavaScript, whatever they are written in', async () => {
    const main = await asset('page/main.js')
    expect(main?.type).toContain('text/javascript')
    const history = await asset('page/run/runHistory.ts')
    expect(history?.body).toContain('class RunHistory')
    expect(history?.body).not.toMatch(/import type|: InspectedEvent/)
  })
})

describe('the policy of the page', () => {
  it('lets nothing run but what comes from here, and the one map that is written in it', async () => {
    const page = await asset('index.html')
    const policy = page?.headers?.['content-security-policy'] ?? ''
    const [, map = ''] = /<script type="importmap">([\s\S]*?)<\/script>/.exec(page?.body ?? '') ?? []
    const hash = createHash('sha256').update(map).digest('base64')
    expect(map).toContain('preact')
    expect(policy.split('; ')).toEqual([
      "default-src 'none'",
      `script-src 'self' 'sha256-${hash}'`,
      "style-src 'self'",
      "img-src 'self' data:",
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ])
  })
})

/** The paths that a file of the page loads. */
function askedFor(path: string, body: string): readonly string[] {
  const base = new URL(path, 'http://page/')
  const pattern = path.endsWith('.html')
    ? /(?:src|href)="(?<from>[^"#:]+)"/g
    : /^(?:import|export)\b[^'"]*?\bfrom\s*['"](?<from>[^'"]+)['"]/gm
  const imports: Readonly<Record<string, string>> = {
    preact: '/page/preact/preact.mjs',
    'preact/hooks': '/page/preact/hooks.mjs',
  }
  return [...body.matchAll(pattern)].map(({ groups }) => {
    const from = groups?.from ?? ''
    return new URL(imports[from] ?? from, base).pathname.slice(1)
  })
}

/** Whether nothing of a source is left without its types. */
function isTypesOnly(file: string): boolean {
  return !/^export (?:async )?(?:const|function|class)/m.test(read(file))
}
