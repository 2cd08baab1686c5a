import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import * as mini from 'zod/mini'
import * as zod3 from 'zod/v3'
import { defineTool, MisuseError } from '../../src/index.ts'

const base = { name: 't', description: 'A tool.' }

/** The message with which a definition is refused. */
function refusal(definition: object): string {
  try {
    defineTool({ ...base, input: z.object({}), run: () => 1, ...definition } as never)
  } catch (error) {
    if (error instanceof MisuseError && error.code === 'invalid_tool') return error.message
    throw error
  }
  throw new Error('it was accepted')
}

describe('the arguments of a tool are typed and validated by', () => {
  const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

  it('a zod schema, whose defaults and transforms are applied', async () => {
    const tool = defineTool({
      ...base,
      input: z.object({
        city: z.string().transform((text) => text.length),
        days: z.number().default(3),
      }),
      run: (args) => expectTypeOf(args).toEqualTypeOf<{ city: number; days: number }>(),
    })
    expect(tool.parameters).toEqual({
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'number', default: 3 } },
      required: ['city'],
    })
    expect(await tool.parse({ city: 'Oslo' })).toEqual({ ok: true, value: { city: 4, days: 3 } })
  })

  it('a schema of zod/mini', async () => {
    const tool = defineTool({
      ...base,
      input: mini.object({ city: mini.string() }),
      run: (args) => expectTypeOf(args).toEqualTypeOf<{ city: string }>(),
    })
    expect(tool.parameters).toEqual(city)
    expect(await tool.parse({})).toMatchObject({ ok: false })
  })

  it('a schema of arktype', async () => {
    const tool = defineTool({
      ...base,
      input: type({ city: 'string', 'days?': 'number' }),
      run: (args) => expectTypeOf(args).toEqualTypeOf<{ city: string; days?: number }>(),
    })
    expect(tool.parameters).toMatchObject({ properties: { days: { type: 'number' } }, required: ['city'] })
    expect(await tool.parse({ city: 'Oslo' })).toEqual({ ok: true, value: { city: 'Oslo' } })
    expect(await tool.parse({ city: 'Oslo', days: '3' })).toEqual({
      ok: false,
      issues: ['days must be a number (was a string) (you sent "3")'],
    })
  })

  it('a schema of valibot', async () => {
    const tool = defineTool({
      ...base,
      input: toStandardJsonSchema(v.object({ city: v.string(), days: v.optional(v.number(), 3) })),
      run: (args) => expectTypeOf(args).toEqualTypeOf<{ city: string; days: number }>(),
    })
    expect(tool.parameters).toMatchObject({ properties: { city: { type: 'string' } }, required: ['city'] })
    expect(await tool.parse({ city: 'Oslo' })).toEqual({ ok: true, value: { city: 'Oslo', days: 3 } })
    expect(await tool.parse({ city: 1 })).toEqual({
      ok: false,
      issues: ['city: Invalid type: Expected string but received 1'],
    })
  })

  it('a JSON Schema', async () => {
    const tool = defineTool({
      ...base,
      input: city,
      run: (args) => expectTypeOf(args).toEqualTypeOf<Record<string, unknown>>(),
    })
    expect(tool.parameters).toEqual(city)
    expect(await tool.parse({ city: 'Oslo', other: 1 })).toMatchObject({ ok: true })
    expect(await tool.parse({ city: 1 })).toEqual({
      ok: false,
      issues: ['city: expected string, received number (you sent 1)'],
    })
  })

  it('a JSON Schema with a type that is named', () => {
    defineTool<{ city: string }>({
      ...base,
      input: city,
      run: (args) => expectTypeOf(args).toEqualTypeOf<{ city: string }>(),
    })
  })

  it('a JSON Schema as it was when the tool was defined', () => {
    const mine: Record<string, unknown> = { ...city }
    const { parameters } = defineTool({ ...base, input: mine, run: () => 1 })
    mine.type = 'string'
    expect(parameters).toEqual(city)
  })

  it('JSON Schemas whose ids stay their own', () => {
    const input = { ...city, $id: 'https://example.org/city', id: 'city' }
    expect(() => [1, 2].map(() => defineTool({ ...base, input, run: () => 1 }))).not.toThrow()
    expect(z.toJSONSchema(z.globalRegistry).schemas).not.toHaveProperty('city')
  })

  it('a schema that is asynchronous', async () => {
    const input = z.object({ a: z.number().refine(async (a) => a > 1, 'must be above 1') })
    const tool = defineTool({ ...base, input, run: () => 1 })
    expect(await tool.parse({ a: 2 })).toEqual({ ok: true, value: { a: 2 } })
    expect(await tool.parse({ a: 1 })).toEqual({ ok: false, issues: ['a: must be above 1 (you sent 1)'] })
  })

  it('a schema whose refinement throws, which runs once', () => {
    let times = 0
    const input = z.object({}).refine(() => {
      times++
      throw new Error('broken')
    })
    expect(() => defineTool({ ...base, input, run: () => 1 }).parse({})).toThrow('broken')
    expect(times).toBe(1)
  })

  it('a schema with a JSON Schema that is given by hand', async () => {
    const tool = defineTool({
      ...base,
      input: v.object({ city: v.string() }),
      parameters: city,
      run: (args) => expectTypeOf(args).toEqualTypeOf<{ city: string }>(),
    })
    expect(tool.parameters).toEqual(city)
    expect(await tool.parse({})).toMatchObject({ ok: false })
  })

  it('a recursive schema whose root is a reference', () => {
    const { node } = type.module({ node: { name: 'string', 'children?': 'node[]' } })
    const { parameters } = defineTool({ ...base, input: node, run: () => 1 })
    expect(parameters).toMatchObject({ type: 'object', properties: { name: { type: 'string' } } })
  })
})

describe('a definition is refused', () => {
  it.each(['', 'get weather', 'get.weather', 'wetter_für', 'x'.repeat(65), undefined])(
    'with the name %j',
    (name) => {
      expect(refusal({ name })).toContain('1 to 64 letters')
    },
  )

  it.each([
    ['a text', 'city', 'input must be a schema'],
    ['nothing', undefined, 'input must be a schema'],
    ['a string schema', z.string(), 'input must be an object schema'],
    ['a union', z.union([z.object({}), z.string()]), 'input must be an object schema'],
    ['an arktype that is no object', type('string'), 'input must be an object schema'],
    ['a JSON Schema of a string', { type: 'string' }, 'input must be an object schema'],
    ['fields that are no schema yet', { city: z.string() }, 'wrap its fields in z.object'],
    ['a schema of zod 3', zod3.object({}), 'this one is of zod 3'],
    ['a valibot schema without JSON Schema', v.object({}), 'toStandardJsonSchema'],
    [
      'a JSON Schema that zod cannot validate',
      { type: 'object', not: { required: ['a'] } },
      'cannot be validated',
    ],
    [
      'dates',
      z.object({ a: z.object({ when: z.date() }) }),
      'cannot be represented in JSON Schema, at a.when',
    ],
    ['dates of arktype', type({ when: 'Date' }), 'cannot be shown to a model as JSON Schema'],
    ['big integers of arktype', type({ n: 'bigint' }), 'cannot be shown to a model as JSON Schema'],
  ])('with %s as input', (_what, input, message) => {
    expect(refusal({ input })).toContain(message)
    expect(refusal({ input })).toContain('"t"')
  })

  it('with a JSON Schema that contains itself', () => {
    const input: Record<string, unknown> = { type: 'object' }
    input.properties = { again: input }
    expect(refusal({ input })).toContain('is not plain JSON')
  })

  it.each([
    ['retries', [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, '1']],
    ['concurrency', [0, 1.5, Number.NaN, '1']],
    ['maxResultTokens', [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]],
    ['maxResultCharacters', [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]],
  ])('with %s that are no count', (option, values) => {
    for (const value of values) {
      expect(refusal({ [option]: value })).toContain(`${option} must be a whole number`)
    }
  })

  it('with waits that are no list of milliseconds', () => {
    for (const retryDelaysMs of [[], [-1], 500, 0, '', false, Number.NaN, null, new Array(2)]) {
      const misuse = expect.objectContaining({
        code: 'invalid_timeout',
        message: expect.stringContaining('retryDelaysMs of tool "'),
      })
      expect(() =>
        defineTool({ ...base, input: z.object({}), run: () => 1, retryDelaysMs: retryDelaysMs as never }),
      ).toThrow(misuse)
    }
  })

  it('only where a number is wrong', () => {
    const counts = { retries: 0, concurrency: Number.POSITIVE_INFINITY, maxResultTokens: 1 }
    const tool = defineTool({ ...base, input: z.object({}), ...counts, run: () => 1 })
    expect(tool).toMatchObject({ ...counts, strict: false, repairArguments: false })
  })
})
