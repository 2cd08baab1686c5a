import { afterEach, describe, expect, it, vi } from 'vitest'
import { calculate, convertUnits, exampleTools, getTime, getWeather } from '../../src/offline/index.ts'
import { callTool as use } from '../../src/testing/index.ts'

const prototypeNames = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf', 'prototype']

describe('the example tools', () => {
  it('are four, idempotent, and need no approval', () => {
    expect(exampleTools.map((tool) => tool.name)).toEqual([
      'calculate',
      'get_weather',
      'get_time',
      'convert_units',
    ])
    for (const tool of exampleTools) {
      expect(tool.idempotent).toBe(true)
      expect(tool.needsApproval).toBe(false)
      expect(tool.parameters.type).toBe('object')
    }
  })
})

describe('calculate', () => {
  it.each([
    ['15*8+32', 152],
    ['2^10', 1024],
    ['2**10', 1024],
    ['2**-1', 0.5],
    ['-2^2', -4],
    ['(1+2)*3', 9],
    ['（１＋２）×３', 9],
    ['１２÷４－１', 2],
    ['7−2', 5],
    ['２＊３／４', 1.5],
    ['0.1+0.2', 0.3],
    ['0.57*100', 57],
    ['10 % 3', 1],
    ['5!', 120],
    ['sqrt(16) + max(1, 2)', 6],
    ['pi - PI + e - E', 0],
    ['9007199254740991', 9007199254740991],
    ['1e3', 1000],
  ])('works out %s', async (expression, result) => {
    expect(await use(calculate, { expression })).toEqual({ expression, result })
  })

  it('gives constants with 15 digits', async () => {
    expect(await use(calculate, { expression: 'pi' })).toMatchObject({
      result: Number(Math.PI.toPrecision(15)),
    })
    expect(await use(calculate, { expression: 'e' })).toMatchObject({
      result: Number(Math.E.toPrecision(15)),
    })
  })

  it('says where whole numbers are not exact', async () => {
    expect(await use(calculate, { expression: '9007199254740993+1' })).toMatchObject({
      note: expect.stringContaining('approximate'),
    })
  })

  it.each([
    ['1/0', /division by zero/],
    ['5 % 0', /division by zero/],
    ['1÷(2-2)', /division by zero/],
    ['sqrt(-1)', /not a number/],
    ['10^400', /too large/],
    ['sqrt', /does not give a number/],
    ['max', /does not give a number/],
    ['true', /undefined variable/],
    ['1 +', /cannot evaluate/],
    ['1 2', /cannot evaluate/],
    ['"a"', /not part of an arithmetic expression/],
    ['[1,2]', /not part of an arithmetic expression/],
    ['1; 2', /not part of an arithmetic expression/],
    ['1 == 1', /not part of an arithmetic expression/],
    ['2²', /not part of an arithmetic expression/],
    ['x = 5', /not part of an arithmetic expression/],
    ['random()', /cannot evaluate/],
    ['map(sqrt, 4)', /undefined variable/],
    ['if(1, 2, 3)', /undefined variable/],
    ['length 5', /cannot evaluate/],
    ['pi.x', /cannot evaluate/],
  ])('refuses %s with the reason', async (expression, reason) => {
    await expect(use(calculate, { expression })).rejects.toThrow(reason)
  })

  it.each(prototypeNames.flatMap((name) => [name, `${name}(1)`, `${name} 1`, `1 + ${name}`]))(
    'does not find %s on a prototype',
    async (expression) => {
      await expect(use(calculate, { expression })).rejects.toThrow(/cannot evaluate/)
    },
  )

  it('works through nested brackets up to its limit and refuses what is longer', async () => {
    const nested = (depth: number): string => `${'('.repeat(depth)}1${')'.repeat(depth)}`
    expect(await use(calculate, { expression: nested(249) })).toMatchObject({ result: 1 })
    await expect(use(calculate, { expression: nested(250) })).rejects.toThrow(/500/)
    await expect(use(calculate, { expression: '('.repeat(100_000) })).rejects.toThrow(/500/)
    await expect(use(calculate, { expression: '('.repeat(500) })).rejects.toThrow(/cannot evaluate/)
  })

  it('refuses arguments that are not an expression', async () => {
    for (const args of [{}, { expression: '' }, { expression: '  ' }, { expression: 5 }, null, 'x']) {
      await expect(use(calculate, args)).rejects.toThrow(/do not fit/)
    }
  })
})

describe('get_weather', () => {
  it('tells sample weather in English and Chinese, whatever the case', async () => {
    const beijing = {
      city: 'Beijing',
      temperature_c: 26,
      condition: 'sunny',
      humidity_percent: 40,
      note: 'sample data, not a forecast',
    }
    for (const city of ['Beijing', 'BEIJING', ' beijing ', '北京', '北京市']) {
      expect(await use(getWeather, { city })).toEqual(beijing)
    }
    expect(await use(getWeather, { city: 'new  york' })).toMatchObject({ city: 'New York' })
    expect(await use(getWeather, { city: '旧金山' })).toMatchObject({ city: 'San Francisco' })
  })

  it.each(['Atlantis', '火星', ...prototypeNames])('says which cities it knows for %s', async (city) => {
    await expect(use(getWeather, { city })).rejects.toThrow(/Known cities: Beijing \(北京\), Shanghai/)
  })
})

describe('get_time', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it.each([
    ['Asia/Tokyo', 'Asia/Tokyo', '2026-03-02', '04:05:06', 'Monday', '+09:00'],
    ['tokyo', 'Asia/Tokyo', '2026-03-02', '04:05:06', 'Monday', '+09:00'],
    ['东京', 'Asia/Tokyo', '2026-03-02', '04:05:06', 'Monday', '+09:00'],
    ['New York', 'America/New_York', '2026-03-01', '14:05:06', 'Sunday', '-05:00'],
    ['UTC', 'UTC', '2026-03-01', '19:05:06', 'Sunday', '+00:00'],
  ])('tells the time in %s', async (zone, id, date, time, weekday, offset) => {
    vi.useFakeTimers({ now: Date.UTC(2026, 2, 1, 19, 5, 6) })
    expect(await use(getTime, { zone })).toEqual({ zone: id, date, time, weekday, utc_offset: offset })
  })

  it('counts midnight as hour 0', async () => {
    vi.useFakeTimers({ now: Date.UTC(2026, 2, 1, 0, 0, 0) })
    expect(await use(getTime, { zone: 'UTC' })).toMatchObject({ date: '2026-03-01', time: '00:00:00' })
  })

  it.each(['Nowhere/Land', 'Asia/Beijing', '火星', ...prototypeNames])(
    'says what it takes instead of %s',
    async (zone) => {
      await expect(use(getTime, { zone })).rejects.toThrow(/unknown time zone .* IANA zone .*Tokyo \(东京\)/)
    },
  )
})

describe('convert_units', () => {
  it.each([
    [5, 'km', 'miles', 'km', 'mi', 3.10685596119],
    [5, '公里', '英里', 'km', 'mi', 3.10685596119],
    [100, 'F', 'C', '°F', '°C', 37.777778],
    [100, '华氏度', '摄氏度', '°F', '°C', 37.777778],
    [0, '℃', 'K', '°C', 'K', 273.15],
    [32, 'fahrenheit', 'CELSIUS', '°F', '°C', 0],
    [-40, '°C', '°F', '°C', '°F', -40],
    [1, 'lb', 'kg', 'lb', 'kg', 0.45359237],
    [3, '斤', '公斤', 'jin', 'kg', 1.5],
    [2, 'gallons', 'liters', 'gal', 'l', 7.570823568],
    [36, 'km/h', 'm/s', 'km/h', 'm/s', 10],
    [1, 'GiB', 'MB', 'GiB', 'MB', 1073.741824],
    [0.1, 'm', 'cm', 'm', 'cm', 10],
  ])('converts %d %s to %s', async (value, from, to, fromSymbol, toSymbol, result) => {
    expect(await use(convertUnits, { value, from, to })).toEqual({
      value,
      from: fromSymbol,
      to: toSymbol,
      result,
    })
  })

  it.each(['parsec', ...prototypeNames])('lists the units for the unknown unit %s', async (from) => {
    await expect(use(convertUnits, { value: 1, from, to: 'm' })).rejects.toThrow(/unknown unit .*km.*TiB/)
    await expect(use(convertUnits, { value: 1, from: 'm', to: from })).rejects.toThrow(/unknown unit/)
  })

  it('lists what is possible where dimensions differ', async () => {
    const refused = use(convertUnits, { value: 1, from: 'km', to: 'kg' })
    await expect(refused).rejects.toThrow(
      /km is a unit of length and kg one of mass.*possible: mm, cm, m, km/,
    )
  })

  it('refuses what cannot be', async () => {
    await expect(use(convertUnits, { value: -1, from: 'K', to: 'C' })).rejects.toThrow(/absolute zero/)
    await expect(use(convertUnits, { value: 1e308, from: 'km', to: 'mm' })).rejects.toThrow(/too large/)
    await expect(use(convertUnits, { value: '5', from: 'km', to: 'mi' })).rejects.toThrow(/value/)
  })
})
