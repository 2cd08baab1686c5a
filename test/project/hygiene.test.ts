import { existsSync } from 'node:fs'
import { posix } from 'node:path'
import { describe, expect, it } from 'vitest'
import { VERSION } from '../../src/version.ts'
import { documents, entryPoints, filesIn, manifest, read, root, sourceOf } from './repository.ts'

/** Where the links of a Markdown text lead that do not leave the repository. */
function relativeLinks(markdown: string): readonly string[] {
  const prose = markdown.replace(/^( *)(`{3,})[^\n]*\n[\s\S]*?^ *\2 *$/gm, '').replace(/`[^`\n]*`/g, '')
  const links = prose.matchAll(
    /\]\(\s*<?(?<inline>[^)\s>]+)|^\[[^\]]+\]:\s*(?<reference>\S+)|(?:src|href)="(?<html>[^"]+)"/gm,
  )
  return [...links]
    .map(({ groups }) => groups?.inline ?? groups?.reference ?? groups?.html ?? '')
    .filter((link) => !/^(?:[a-z][a-z\d+.-]*:|#|\/\/)/i.test(link))
}

/** The file or folder that a link in a document names. */
function destinationOf(document: string, link: string): string {
  return posix.join(posix.dirname(document), decodeURI(link.replace(/[#?].*$/, '')))
}

function codeBlocks(markdown: string): readonly string[] {
  return markdown.match(/^ *```\S*[^\n]*\n[\s\S]*?^ *```/gm) ?? []
}

describe('the documents', () => {
  it('link to files that exist', () => {
    const broken = documents().flatMap((document) =>
      relativeLinks(read(document))
        .filter((link) => !existsSync(root + destinationOf(document, link)))
        .map((link) => `${document}: ${link}`),
    )
    expect(broken).toEqual([])
  })

  it('would be caught with a link that leads nowhere, however it is written', () => {
    const markdown = [
      '[a](docs/nowhere.md#part) ![b](<nowhere.png>) [c]: nothing <img src="none.svg">',
      '[d]: ./gone.md',
      '[web](https://example.com) [part](#part) [mail](mailto:a@b.c)',
      '`[code](x.md)`',
      '```md\n[code](y.md)\n```',
    ].join('\n')
    expect(relativeLinks(markdown)).toEqual(['docs/nowhere.md#part', 'nowhere.png', 'none.svg', './gone.md'])
    expect(destinationOf('docs/a.md', '../README.md#top')).toBe('README.md')
  })

  it('have the same code blocks in both languages', () => {
    const [english, chinese] = ['README.md', 'README.zh-CN.md'].map((path) =>
      existsSync(root + path) ? codeBlocks(read(path)).length : undefined,
    )
    expect(chinese, 'code blocks of README.zh-CN.md as against README.md').toBe(english)
  })
})

describe('the sources', () => {
  it('leave nothing for later', () => {
    const sources = ['src', 'test', 'scripts', 'examples', 'bench', 'eval'].flatMap(filesIn)
    const texts = sources.filter((path) => /\.(?:[cm]?[jt]s|tsx|html|css)$/.test(path))
    // The brackets keep this file from finding itself.
    expect(texts.filter((path) => /\b(?:TO[D]O|FIX[M]E)\b/.test(read(path)))).toEqual([])
    expect(texts).toContain('test/project/hygiene.test.ts')
  })
})

describe('the package', () => {
  it('says of itself the version that it has', () => {
    expect(VERSION).toBe(manifest.version)
  })

  it('offers nothing whose source does not exist', () => {
    const sources = [...entryPoints.map(({ source }) => source), ...Object.values(manifest.bin).map(sourceOf)]
    expect(sources.length).toBeGreaterThan(1)
    expect(sources.filter((path) => !existsSync(root + path))).toEqual([])
  })

  it('gives types that belong to the code', () => {
    for (const { built } of entryPoints) expect(built.types).toBe(built.default.replace(/\.js$/, '.d.ts'))
  })
})

describe('what Node runs as it is written', () => {
  it('declares nothing with using, which the oldest Node that is supported cannot read', () => {
    const sources = [...filesIn('src'), ...filesIn('examples')].filter((path) => path.endsWith('.ts'))
    expect(sources.length).toBeGreaterThan(20)
    expect(sources.filter((path) => /^\s*(?:await )?using \w+ =/m.test(read(path)))).toEqual([])
  })
})
