import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { blocksOf, type CodeBlock } from './docBlocks.ts'
import { documents, entryPoints, read, root } from './repository.ts'

const run = promisify(execFile)

/** As the project is checked, but an example may declare what it does not use. */
const tsconfig = {
  extends: `${root}tsconfig.json`,
  compilerOptions: {
    noUnusedLocals: false,
    noUnusedParameters: false,
    declaration: false,
    isolatedDeclarations: false,
    rewriteRelativeImportExtensions: false,
    allowImportingTsExtensions: true,
    paths: Object.fromEntries(entryPoints.map(({ specifier, source }) => [specifier, [root + source]])),
  },
  include: ['*.ts'],
}

/** Type-checks all blocks in one go. Returns what the compiler says, at the document and line that it is about. */
async function complaintsAbout(blocks: readonly CodeBlock[]): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'loopchart-docs-'))
  try {
    await symlink(`${root}node_modules`, join(folder, 'node_modules'))
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig))
    // The last line makes a module of each block, so that they share no names and may await.
    const files = blocks.map(({ code }, i) => writeFile(join(folder, `block${i}.ts`), `${code}\nexport {}\n`))
    await Promise.all(files)
    const tsc = ['node_modules/.bin/tsc', '--pretty', 'false', '-p', folder] as const
    const said = await run(root + tsc[0], tsc.slice(1), { cwd: folder }).catch(
      (failure: { stdout?: string }) => failure,
    )
    return (said.stdout ?? String(said)).split('\n').flatMap((message) => complaint(message, blocks))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** What is wrong in src/ is the business of `npm run typecheck`. */
function complaint(message: string, blocks: readonly CodeBlock[]): readonly string[] {
  const { block, line, file, text } =
    /^(?:.*\bblock(?<block>\d+)\.ts\((?<line>\d+),\d+\)|(?<file>.+)\(\d+,\d+\)): (?<text>error .*)$/.exec(
      message,
    )?.groups ?? {}
  const about = blocks[Number(block)]
  if (about !== undefined) return [`${about.document}:${about.line + Number(line) - 1} ${text}`]
  return message.includes('error TS') && file === undefined ? [message] : []
}

describe('the code in the documents', () => {
  it('type-checks', { timeout: 60_000 }, async () => {
    const blocks = documents().flatMap((document) => blocksOf(document, read(document)))
    if (existsSync(`${root}README.md`)) {
      expect(blocks.map(({ document }) => document)).toContain('README.md')
    }
    const wrong = { document: 'wrong.md', line: 7, code: "import 'loopchart'\nconst n: number = 'one'" }
    const complaints = await complaintsAbout([...blocks, wrong])
    expect(complaints, 'complaints, among which the one about wrong.md is made on purpose').toEqual([
      "wrong.md:8 error TS2322: Type 'string' is not assignable to type 'number'.",
    ])
  })

  it('is found with the line where it stands, indented or not', () => {
    const markdown = 'Text\n\n```ts\nconst a = 1\n```\n\n- item\n  ```ts\n  if (a) {\n    b()\n  }\n  ```\n'
    expect(blocksOf('x.md', markdown)).toEqual([
      { document: 'x.md', line: 4, code: 'const a = 1\n' },
      { document: 'x.md', line: 9, code: 'if (a) {\n  b()\n}\n' },
    ])
  })

  it('is left alone where it says so, or is no TypeScript', () => {
    expect(blocksOf('x.md', '```ts ignore\n…\n```\n\n```tsx\n…\n```\n\n```sh\nls\n```\n')).toEqual([])
  })
})
