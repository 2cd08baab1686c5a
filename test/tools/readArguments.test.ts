import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineTool, type Tool } from '../../src/index.ts'
import { readArguments } from '../../src/tools/readArguments.ts'
import { callOf } from './support.ts'

function toolWith(
  input: z.ZodType | Record<string, unknown>,
  options: { repairArguments?: boolean } = {},
): Tool {
  return defineTool<unknown>({ name: 't', description: 'd', input, ...options, run: () => 1 })
}

const read = (tool: Tool, args: unknown) => readArguments(callOf('t', args), tool)

/** What the model is told of arguments that are refused. */
async function complaint(tool: Tool, args: unknown): Promise<string> {
  const result = await read(tool, args)
  if (result.ok) throw new Error(`accepted: ${JSON.stringify(result.value)}`)
  return result.result.content
}

const question = z.object({ text: z.string(), options: z.array(z.string()).optional() })
const quiz = toolWith(z.object({ questions: z.array(question) }))

describe('arguments that are blank', () => {
  it.each(['', ' ', '\n\t'])('(%j) are an empty object', async (text) => {
    expect(await read(toolWith(z.object({ a: z.number().default(1) })), text)).toEqual({
      ok: true,
      value: { a: 1 },
    })
  })

  it('are still validated', async () => {
    expect(await complaint(quiz, '')).toContain('questions: expected array, received undefined')
  })
})

describe('arguments that are not JSON', () => {
  const text = '{"questions": [{"text": "why'

  it('are answered with the error, the schema and what was sent', async () => {
    const result = await read(quiz, text)
    expect(result).toMatchObject({ ok: false, result: { error: 'invalid_json' } })
    const told = await complaint(quiz, text)
    expect(told).toContain('JSON')
    expect(told).toContain(`You sent: ${text}`)
    expect(told).toContain(JSON.stringify(quiz.parameters))
  })

  it('are shown from their beginning and to their end', async () => {
    const told = await complaint(quiz, `{"begin${'x'.repeat(100_000)}end`)
    expect(told).toContain('{"begin')
    expect(told).toContain('xend\n')
    expect(told).toContain('(100010 characters)')
    expect(told.length).toBeLessThan(1500)
  })

  it('are repaired where the tool says so, and validated', async () => {
    const repairing = toolWith(z.object({ questions: z.array(question) }), { repairArguments: true })
    expect(await read(repairing, text)).toEqual({ ok: true, value: { questions: [{ text: 'why' }] } })
    expect(await complaint(repairing, '{questions: 1')).toContain('questions: expected array')
    expect(await complaint(repairing, 'let me see')).toContain('not valid JSON')
    expect(await complaint(repairing, '[1, 2')).toContain('not valid JSON')
  })
})

describe('arguments that were encoded twice', () => {
  const value = { questions: [{ text: 'why', options: ['a'] }] }

  it.each([
    ['as a whole', JSON.stringify(JSON.stringify(value))],
    ['in an array', { questions: JSON.stringify(value.questions) }],
    ['in its items', { questions: value.questions.map((item) => JSON.stringify(item)) }],
    ['further down', { questions: [{ text: 'why', options: '["a"]' }] }],
  ])('%s are read', async (_where, args) => {
    expect(await read(quiz, args)).toEqual({ ok: true, value })
  })

  it('are read where a reference or a choice leads to an object', async () => {
    const tree = z.object({
      name: z.string(),
      get left() {
        return z.nullable(tree)
      },
    })
    const leaf = { name: 'leaf', left: null }
    expect(await read(toolWith(tree), { name: 'root', left: JSON.stringify(leaf) })).toEqual({
      ok: true,
      value: { name: 'root', left: leaf },
    })
  })

  it('are left alone where a string is wanted', async () => {
    const tool = toolWith(z.object({ text: z.string(), either: z.union([z.string(), z.array(z.string())]) }))
    expect(await read(tool, { text: '["a"]', either: '["a"]' })).toEqual({
      ok: true,
      value: { text: '["a"]', either: '["a"]' },
    })
    expect(await complaint(tool, { text: 1, either: '["a"]' })).not.toContain('- either')
  })

  it('are left alone where a string is as good as an array, beside one that is read', async () => {
    const tool = toolWith(
      z.object({ list: z.array(z.number()), either: z.union([z.array(z.string()), z.string()]) }),
    )
    expect(await read(tool, { list: '[1]', either: '["a"]' })).toEqual({
      ok: true,
      value: { list: [1], either: '["a"]' },
    })
  })

  it('are left alone where the schema took them for what they are', async () => {
    const tool = toolWith(z.object({ list: z.preprocess(String, z.string()) }))
    expect(await read(tool, { list: '[1]' })).toEqual({ ok: true, value: { list: '[1]' } })
  })

  it('are unwrapped once', async () => {
    const twice = JSON.stringify(JSON.stringify(value.questions))
    expect(await complaint(quiz, { questions: twice })).toContain(
      'questions: expected array, received string',
    )
    const inner = JSON.stringify([JSON.stringify(value.questions[0])])
    expect(await complaint(quiz, { questions: inner })).toContain('questions[0]: expected object')
  })

  it('are complained of as they were read', async () => {
    const args = { questions: '[{"text": 5}]' }
    expect(await complaint(quiz, args)).toContain(
      'questions[0].text: expected string, received number (you sent 5)',
    )
  })

  it('are validated twice at most', async () => {
    let times = 0
    const parse: Tool['parse'] = () => {
      times++
      return { ok: false, issues: ['no'] }
    }
    await read({ ...quiz, parse }, { questions: '["[]"]' })
    await read({ ...quiz, parse }, { questions: 1 })
    expect(times).toBe(3)
  })
})

describe('what does not fit', () => {
  it('is told with paths, what was expected and what was received', async () => {
    const tool = toolWith(
      z.object({
        items: z.array(z.object({ price: z.number() })),
        unit: z.enum(['kg', 'g']),
        'odd key': z.string(),
        count: z.number().min(2),
      }),
    )
    const args = { items: [{ price: '12' }], unit: 'lb', 'odd key': 1, count: 1 }
    expect((await complaint(tool, args)).split('\n')).toEqual([
      'Error (invalid_arguments): The arguments of t do not fit its schema. The tool was not run.',
      '- items[0].price: expected number, received string (you sent "12")',
      '- unit: expected one of "kg"|"g" (you sent "lb")',
      '- ["odd key"]: expected string, received number (you sent 1)',
      '- count: Too small: expected number to be >=2 (you sent 1)',
      `You sent: ${JSON.stringify(args)}`,
      'Mend what is listed, keep the rest, and call the tool again.',
    ])
  })

  it('with a union is told by the form that was meant', async () => {
    const tool = toolWith(z.object({ to: z.union([z.string(), z.object({ id: z.number() })]) }))
    expect(await complaint(tool, { to: { id: 'x' } })).toContain(
      '- to.id: expected number, received string (you sent "x")\nYou',
    )
  })

  it('with all forms of a union is told by all of them', async () => {
    const tool = toolWith(
      z.object({ to: z.union([z.object({ id: z.number() }), z.object({ name: z.string() })]) }),
    )
    expect(await complaint(tool, { to: {} })).toContain(
      '- to: it must be one of 2 forms: id: expected number, received undefined; or ' +
        'name: expected string, received undefined (you sent {})',
    )
  })

  it('is told in lines and lists that end', async () => {
    const tool = toolWith(z.object({ list: z.array(z.number()) }))
    const list = Array.from({ length: 500 }, () => 'x'.repeat(5000))
    const told = await complaint(tool, { list })
    expect(told.split('\n').filter((line) => line.startsWith('- '))).toHaveLength(21)
    expect(told).toContain('- and 480 more')
    expect(told.length).toBeLessThan(12_000)
    const long = toolWith(z.object({ a: z.number({ error: 'no '.repeat(1000) }) }))
    expect((await complaint(long, {})).length).toBeLessThan(900)
  })

  it.each(['null', '5', '[]', '"text"'])('as %s is told', async (text) => {
    expect(await complaint(quiz, text)).toContain('- expected object, received')
  })
})

describe('keys that reach a prototype', () => {
  const open = toolWith({ type: 'object', properties: { nested: { type: 'object' } } })
  const hostile = '{"__proto__": {"bad": 1}, "constructor": {"prototype": {"bad": 1}}, "kept": 1}'

  it.each([
    ['on top', hostile],
    [
      'in letters that are escaped',
      hostile.replaceAll('proto__', '\\u0070roto__').replace('constr', '\\u0063onstr'),
    ],
  ])('are left out %s', async (_where, text) => {
    // Not every schema library leaves them out by itself.
    const trusting: Tool = { ...open, parse: (value) => ({ ok: true, value }) }
    const result = await read(trusting, text)
    expect(result.ok && Object.getOwnPropertyNames(result.value)).toEqual(['kept'])
  })

  it('are left out further down, and where a string or a repair hid them', async () => {
    const repairing = { ...open, repairArguments: true }
    for (const text of [
      `{"nested": ${hostile}}`,
      JSON.stringify({ nested: hostile }),
      `{nested: ${hostile}`,
      JSON.stringify(`{"nested": ${hostile}}`),
    ]) {
      const result = await read(repairing, text)
      const { nested } = (result.ok ? result.value : {}) as { nested: object }
      expect(Object.getOwnPropertyNames(nested)).toEqual(['kept'])
    }
    expect(({} as { bad?: unknown }).bad).toBeUndefined()
  })

  it('may be plain names', async () => {
    const racing = toolWith(z.object({ constructor: z.union([z.string(), z.object({ name: z.string() })]) }))
    for (const value of [{ constructor: 'Ferrari' }, { constructor: { name: 'Ferrari' } }]) {
      expect(await read(racing, value)).toEqual({ ok: true, value })
    }
  })
})
