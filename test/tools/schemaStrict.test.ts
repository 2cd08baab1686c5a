import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import fc from 'fast-check'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { fromJSONSchema, z } from 'zod'
import { defineTool, type JsonSchema, type Tool } from '../../src/index.ts'
import { specsOf, toolsByName } from '../../src/tools/registry.ts'

type Input = Parameters<typeof defineTool<unknown>>[0]['input']

function strictTool(input: Input, strict = true): Tool {
  return defineTool<unknown>({ name: 't', description: 'd', input, strict, run: () => 1 })
}

async function parsed(tool: Tool, args: unknown): Promise<unknown> {
  const result = await tool.parse(args)
  if (!result.ok) throw new Error(result.issues.join('\n'))
  return result.value
}

/** Objects of a schema that strict mode would refuse. */
function openObjects(schema: unknown): readonly unknown[] {
  if (typeof schema !== 'object' || schema === null) return []
  const { properties, required, additionalProperties } = schema as JsonSchema
  const inner = Object.values(schema).flatMap(openObjects)
  if (typeof properties !== 'object' || properties === null || !('type' in schema)) return inner
  const isClosed = additionalProperties === false && Array.isArray(required)
  const isWhole = isClosed && Object.keys(properties).every((key) => required.includes(key))
  return isWhole ? inner : [schema, ...inner]
}

describe('a strict tool', () => {
  it('requires every key, closes every object, and takes null for what may be left out', () => {
    const input = z.object({
      city: z.string().describe('Where.'),
      unit: z.enum(['c', 'f']).optional().describe('Which.'),
      list: z.array(z.object({ n: z.int().default(1) })).optional(),
    })
    const integer = { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }
    expect(strictTool(input)).toMatchObject({
      strict: true,
      parameters: {
        type: 'object',
        properties: {
          city: { type: 'string', description: 'Where.' },
          unit: { description: 'Which.', anyOf: [{ type: 'string', enum: ['c', 'f'] }, { type: 'null' }] },
          list: {
            anyOf: [
              {
                type: 'array',
                items: {
                  type: 'object',
                  properties: { n: { anyOf: [integer, { type: 'null' }] } },
                  required: ['n'],
                  additionalProperties: false,
                },
              },
              { type: 'null' },
            ],
          },
        },
        required: ['city', 'unit', 'list'],
        additionalProperties: false,
      },
    })
    expect(JSON.stringify(strictTool(input).parameters)).not.toContain('default')
  })

  it('is strict in definitions, in references and in unions', () => {
    const node = z
      .object({
        name: z.string().optional(),
        get next() {
          return node.optional().describe('More.')
        },
      })
      .meta({ id: 'node' })
    const kind = z.discriminatedUnion('k', [
      z.object({ k: z.literal('a'), x: z.number().optional() }),
      z.object({ k: z.literal('b') }),
    ])
    const { strict, parameters } = strictTool(z.object({ node, kind }))
    const text = JSON.stringify(parameters)
    expect(strict).toBe(true)
    expect(openObjects(parameters)).toEqual([])
    expect(text).toContain('"$defs"')
    expect(text).not.toMatch(/"oneOf"|"id"/)
    expect(openObjects({ type: 'object', properties: { a: {} } })).toHaveLength(1)
  })

  it('takes null for left out, at every level', async () => {
    const node = z.object({
      name: z.string().optional(),
      size: z.number().default(7),
      get next() {
        return node.optional()
      },
    })
    const tool = strictTool(z.object({ nodes: z.array(node) }))
    const nothing = { name: null, size: null, next: null }
    expect(await parsed(tool, { nodes: [{ ...nothing, next: nothing }] })).toEqual({
      nodes: [{ size: 7, next: { size: 7 } }],
    })
  })

  it('keeps a null that is a value', async () => {
    const tool = strictTool(
      z.object({
        note: z.string().nullish(),
        due: z.string().nullable(),
        any: z.union([z.number(), z.null()]).optional(),
        list: z.array(z.string().nullable()),
      }),
    )
    const args = { note: null, due: null, any: null, list: [null] }
    expect(await parsed(tool, args)).toEqual(args)
  })

  it('takes null for left out by the form of a union that fits', async () => {
    const tool = strictTool(
      z.object({
        it: z.union([
          z.object({ k: z.literal('a'), x: z.number().optional() }),
          z.object({ k: z.literal('b'), x: z.number().nullable() }),
          z.object({ k: z.string().regex(/^c/), n: z.number().min(10), x: z.string().optional() }),
          z.object({ k: z.string().regex(/^c/), n: z.number(), x: z.string().nullable() }),
        ]),
      }),
    )
    expect(await parsed(tool, { it: { k: 'a', x: null } })).toEqual({ it: { k: 'a' } })
    expect(await parsed(tool, { it: { k: 'b', x: null } })).toEqual({ it: { k: 'b', x: null } })
    expect(await parsed(tool, { it: { k: 'c', n: 10, x: null } })).toEqual({ it: { k: 'c', n: 10 } })
    expect(await parsed(tool, { it: { k: 'c', n: 1, x: null } })).toEqual({ it: { k: 'c', n: 1, x: null } })
  })

  it('takes arguments from a provider that is not strict', async () => {
    const tool = strictTool(z.object({ a: z.string().optional(), b: z.number().default(1) }))
    expect(await parsed(tool, {})).toEqual({ b: 1 })
  })

  it('names what is wrong, and not what was left out', async () => {
    const tool = strictTool(z.object({ a: z.string().optional(), b: z.number() }))
    expect(await tool.parse({ a: null, b: 'x' })).toEqual({
      ok: false,
      issues: ['b: expected number, received string (you sent "x")'],
    })
  })

  it.each([
    ['arktype', type({ a: 'string', 'b?': 'number', 'c?': "'x' | 'y'" })],
    [
      'valibot',
      toStandardJsonSchema(
        v.object({ a: v.string(), b: v.optional(v.number()), c: v.optional(v.picklist(['x', 'y'])) }),
      ),
    ],
    [
      'JSON Schema',
      {
        type: 'object',
        properties: { a: { type: 'string' }, b: { type: 'number' }, c: { enum: ['x', 'y'] } },
        required: ['a'],
      },
    ],
  ])('may be defined with %s', async (_library, input) => {
    const tool = strictTool(input as Input)
    expect(tool.strict).toBe(true)
    expect(openObjects(tool.parameters)).toEqual([])
    expect(await parsed(tool, { a: 'x', b: null, c: null })).toEqual({ a: 'x' })
  })

  it('may take nothing', () => {
    const nothing = { type: 'object', properties: {}, required: [], additionalProperties: false }
    expect(strictTool({ type: 'object' }).parameters).toEqual(nothing)
    expect(strictTool(z.object({})).parameters).toEqual(nothing)
  })

  it('is told to the model as strict, and others are not told at all', () => {
    const strict = strictTool(z.object({}))
    const other = { ...strictTool(z.object({}), false), name: 'other' }
    const specs = specsOf(toolsByName([strict, other]))
    expect(specs.map((spec) => ['strict' in spec, spec.strict])).toEqual([
      [true, true],
      [false, undefined],
    ])
  })
})

describe('strict mode is switched off', () => {
  it.each<[string, Input]>([
    ['a record', z.object({ a: z.record(z.string(), z.number()) })],
    ['an open object', z.object({ a: z.looseObject({}) })],
    ['an open root', z.looseObject({})],
    ['an object of unknown keys', { type: 'object', properties: { a: { type: 'object' } } }],
    ['a value of any kind', z.object({ a: z.unknown() })],
    ['a tuple', z.object({ a: z.tuple([z.string()]) })],
    ['an array of anything', { type: 'object', properties: { a: { type: 'array' } } }],
    ['an intersection', { type: 'object', properties: { a: { allOf: [{ type: 'string' }] } } }],
    ['a format that is refused', z.object({ a: z.url() })],
    ['a pattern with lookaround', z.object({ a: z.string().regex(/^(?!x)/) })],
    [
      'items that must differ',
      { type: 'object', properties: { a: { type: 'array', items: { type: 'string' }, uniqueItems: true } } },
    ],
    ['something refused in a definition', z.object({ a: z.looseObject({}).meta({ id: 'open' }) })],
    [
      'something refused in a union',
      z.object({ a: z.union([z.string(), z.record(z.string(), z.string())]) }),
    ],
  ])('for %s', async (_what, input) => {
    const tool = strictTool(input)
    expect(tool.strict).toBe(false)
    expect(tool.parameters).toEqual(strictTool(input, false).parameters)
  })

  it('and null is then what it is', async () => {
    const tool = strictTool(z.object({ a: z.string().optional(), b: z.unknown() }))
    expect(await tool.parse({ a: null, b: 1 })).toMatchObject({ ok: false })
  })

  it('but not for lookaround where a format says the same', () => {
    const email = z.email({ pattern: /^(?!\.).+@.+$/ })
    const { strict, parameters } = strictTool(z.object({ email }))
    expect(strict).toBe(true)
    expect(parameters.properties).toEqual({ email: { type: 'string', format: 'email' } })
  })
})

/** A value of a schema, as it is meant and as strict mode has it written. */
interface Encoded {
  readonly plain: unknown
  readonly written: unknown
}

/** A schema of the grammar, with its values. */
interface Sample {
  readonly schema: z.ZodType
  readonly values: fc.Arbitrary<Encoded>
  readonly takesNull: boolean
}

const same = (values: fc.Arbitrary<unknown>): fc.Arbitrary<Encoded> =>
  values.map((value) => ({ plain: value, written: value }))

const leaf: fc.Arbitrary<Sample> = fc.constantFrom<Sample>(
  { schema: z.string(), values: same(fc.string()), takesNull: false },
  { schema: z.int(), values: same(fc.integer()), takesNull: false },
  { schema: z.boolean(), values: same(fc.boolean()), takesNull: false },
  { schema: z.enum(['x', 'y']), values: same(fc.constantFrom('x', 'y')), takesNull: false },
  { schema: z.literal(7), values: same(fc.constant(7)), takesNull: false },
  { schema: z.string().nullable(), values: same(fc.option(fc.string())), takesNull: true },
)

function arrayOf({ schema, values }: Sample): Sample {
  return {
    schema: z.array(schema),
    values: fc.array(values, { maxLength: 3 }).map((items) => ({
      plain: items.map(({ plain }) => plain),
      written: items.map(({ written }) => written),
    })),
    takesNull: false,
  }
}

type Field = { readonly sample: Sample; readonly mode: 'required' | 'optional' | 'defaulted' }

/** Absence is written as null where null is no value of its own; where it is, the key is always there. */
function objectOf(fields: Readonly<Record<string, Field>>, tag: string | undefined): Sample {
  const shape = Object.entries(fields).map(([key, { sample, mode }]) => {
    if (mode === 'required') return [key, sample.schema] as const
    return [
      key,
      mode === 'optional' ? sample.schema.optional() : sample.schema.default('by default'),
    ] as const
  })
  const entries = Object.entries(fields).map(([key, { sample, mode }]) =>
    fc
      .option(sample.values, {
        nil: undefined,
        freq: mode === 'required' || sample.takesNull ? 1_000_000 : 2,
      })
      .chain((value) =>
        value === undefined && (mode === 'required' || sample.takesNull)
          ? sample.values.map((always) => [key, always] as const)
          : fc.constant([key, value] as const),
      ),
  )
  const tagged = tag === undefined ? [] : [['tag', tag] as const]
  return {
    schema: z.object(Object.fromEntries([...tagged.map(([key, text]) => [key, z.literal(text)]), ...shape])),
    values: fc.tuple(...entries).map((all) => ({
      plain: Object.fromEntries([
        ...tagged,
        ...all.flatMap(([key, value]) => (value === undefined ? [] : [[key, value.plain]])),
      ]),
      written: Object.fromEntries([
        ...tagged,
        ...all.map(([key, value]) => [key, value === undefined ? null : value.written]),
      ]),
    })),
    takesNull: false,
  }
}

function unionOf(samples: readonly [Sample, Sample]): Sample {
  return {
    schema: z.union(samples.map(({ schema }) => schema)),
    values: fc.oneof(...samples.map(({ values }) => values)),
    takesNull: false,
  }
}

function sample(depth: number): fc.Arbitrary<Sample> {
  if (depth === 0) return leaf
  const deeper = sample(depth - 1)
  return fc.oneof(
    leaf,
    deeper.map(arrayOf),
    object(depth),
    fc.tuple(object(depth, 'a'), object(depth, 'b')).map(unionOf),
    fc
      .tuple(
        object(depth),
        leaf.filter(({ takesNull }) => !takesNull),
      )
      .map(unionOf),
  )
}

function object(depth: number, tag?: string): fc.Arbitrary<Sample> {
  const field = fc.record({
    sample: sample(depth - 1),
    mode: fc.constantFrom('required', 'optional', 'defaulted'),
  }) as fc.Arbitrary<Field>
  const keys = fc.constantFrom('a', 'b', 'c', 'odd key', '$ref')
  return fc
    .dictionary(keys, field, { maxKeys: 4, noNullPrototype: true })
    .map((fields) => objectOf(fields, tag))
}

const drawn = object(3).chain(({ schema, values }) => values.map((value) => ({ schema, ...value })))

describe('any value of any schema', () => {
  it('is the same when it was written as strict mode has it', async () => {
    await fc.assert(
      fc.asyncProperty(drawn, async ({ schema, plain, written }) => {
        const tool = strictTool(schema)
        expect(tool.strict).toBe(true)
        expect(openObjects(tool.parameters)).toEqual([])
        expect(fromJSONSchema(tool.parameters).safeParse(written).error).toBeUndefined()
        expect(await parsed(tool, written)).toEqual(await parsed(strictTool(schema, false), plain))
      }),
      { numRuns: 500 },
    )
  })
})
