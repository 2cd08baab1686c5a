import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineTool, type Tool } from '../../src/index.ts'
import { sampleValue } from '../../src/testing/double/sampleValue.ts'

interface Tree {
  readonly name: string
  readonly children: readonly Tree[]
}
const tree: z.ZodType<Tree> = z.object({
  name: z.string(),
  get children() {
    return z.array(tree)
  },
})

function toolOf(input: Parameters<typeof defineTool>[0]['input'], strict = false): Tool {
  return defineTool({ name: 'tool', description: 'A tool.', input, strict, run: () => '' })
}

describe('a sample value', () => {
  it.each<[string, z.ZodType<Record<string, unknown>>]>([
    ['nothing', z.object({})],
    [
      'texts',
      z.object({ a: z.string(), b: z.string().min(12), c: z.string().max(2), d: z.string().length(7) }),
    ],
    [
      'formats',
      z.object({ a: z.email(), b: z.url(), c: z.uuid(), d: z.iso.datetime(), e: z.iso.date(), f: z.ipv4() }),
    ],
    [
      'numbers',
      z.object({
        a: z.number(),
        b: z.int().positive(),
        c: z.number().negative(),
        d: z.number().min(0.5).max(0.7),
      }),
    ],
    ['multiples', z.object({ a: z.number().min(7).multipleOf(5), b: z.number().gt(0).lt(1) })],
    ['choices', z.object({ a: z.enum(['x', 'y']), b: z.literal(7), c: z.union([z.string(), z.number()]) })],
    [
      'what may be left out',
      z.object({ a: z.string().optional(), b: z.number().default(3), c: z.string().nullable() }),
    ],
    [
      'lists',
      z.object({ a: z.array(z.number()), b: z.array(z.string()).min(3), c: z.tuple([z.string(), z.int()]) }),
    ],
    [
      'objects',
      z.object({ a: z.object({ b: z.object({ c: z.boolean() }) }), d: z.record(z.string(), z.number()) }),
    ],
    [
      'both of two',
      z.object({ a: z.intersection(z.object({ b: z.string() }), z.object({ c: z.int().min(2) })) }),
    ],
    ['what refers to itself', z.object({ root: tree })],
  ])('fits a schema of %s, in strict mode too', async (_name, schema) => {
    for (const strict of [false, true]) {
      const tool = toolOf(schema, strict)
      const sample = sampleValue(tool.parameters)
      expect(await tool.parse(sample), JSON.stringify(sample)).toMatchObject({ ok: true })
    }
  })

  it('is the example or the default, where the schema has one', () => {
    const schema = z
      .object({ a: z.string().meta({ examples: ['Paris'] }), b: z.number().default(9) })
      .required()
    expect(sampleValue(toolOf(schema).parameters)).toMatchObject({ a: 'Paris' })
    expect(sampleValue({ type: 'number', default: 9 })).toBe(9)
  })

  it('has no more than the schema requires', () => {
    expect(sampleValue(toolOf(z.object({ a: z.int(), b: z.int().optional() })).parameters)).toEqual({ a: 0 })
  })

  it('follows references within the schema, and comes to an end', () => {
    const node = { type: 'object', properties: { next: { $ref: '#/$defs/no~1de' } }, required: ['next'] }
    const schema = { $ref: '#/$defs/no~1de', $defs: { 'no/de': node } }
    expect(sampleValue(schema)).toMatchObject({ next: { next: { next: {} } } })
    expect(sampleValue({ $ref: '#/nowhere' })).toBeNull()
    expect(sampleValue({ $ref: '#' })).toBeNull()
  })

  it('puts together what allOf says', () => {
    const schema = {
      allOf: [
        { properties: { a: { type: 'string' } }, required: ['a'] },
        { properties: { b: { type: 'integer', minimum: 3 } }, required: ['b'] },
      ],
    }
    expect(sampleValue(schema)).toEqual({ a: 'text', b: 3 })
  })
})
