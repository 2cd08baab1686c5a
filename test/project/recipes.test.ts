import { describe, expect, it } from 'vitest'
import { importsOf } from './imports.ts'
import { entryPoints, filesIn, read } from './repository.ts'

/** Some 60 lines, with the comment that says how to run it. */
const MOST_LINES = 70

/** What a recipe may import: the library as its users do, schemas, and the model that all recipes share. */
const allowed = [...entryPoints.map(({ specifier }) => specifier), 'zod', '../withModel.ts']

const files = filesIn('examples/recipes').filter((path) => path.split('/').length > 3)
const folders = [...new Set(files.map((path) => path.split('/')[2] ?? ''))]
const programs = files.filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))

describe('the recipes', () => {
  it('are the loops that people come from', () => {
    expect(folders).toEqual([
      'agent-executor',
      'bounded',
      'envelope',
      'function-calling',
      'json-protocol',
      'open-ended',
      'summarising',
    ])
  })

  it.each(folders)('%s has a program, a test, and a README in both languages', (folder) => {
    const own = files.filter((path) => path.startsWith(`examples/recipes/${folder}/`))
    const names = own.map((path) =>
      path
        .split('/')
        .at(-1)
        ?.replace(/^[a-z]\w*(?=\.(?:test\.)?ts$)/, 'x'),
    )
    expect(names.toSorted()).toEqual(['README.md', 'README.zh-CN.md', 'x.test.ts', 'x.ts'])
  })

  it.each(programs)('%s is short and uses nothing but what its readers can install', (program) => {
    const source = read(program)
    expect(source.trimEnd().split('\n').length).toBeLessThanOrEqual(MOST_LINES)
    const imported = importsOf(source).map(({ specifier }) => specifier)
    expect(imported).toContain('loopchart')
    expect(imported.filter((specifier) => !allowed.includes(specifier))).toEqual([])
  })
})
