import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

it('docs/events.md lists exactly the events that there are', () => {
  const documented = [...read('docs/events.md').matchAll(/^\| `([a-z]+\.?[a-z]*)` +\|/gm)].map(
    ([, type]) => type,
  )
  const body = read('src/runtime/events.ts').split('export type EffectReport')[0] ?? ''
  const declared = [...body.matchAll(/type: '([a-z.]+)'/g)].map(([, type]) => type)
  expect(declared.length).toBeGreaterThan(5)
  expect(documented).toEqual(declared)
})
