import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { GrowingMap } from '../../../src/machines/limits/growingMap.ts'

describe('a growing map', () => {
  it('and every map that it was before hold what a copied Map would, whatever is set in which of them', () => {
    const key = fc.integer({ min: 0, max: 5 })
    const changes = fc.array(fc.record({ to: fc.nat(), key, value: fc.integer() }), { maxLength: 40 })
    fc.assert(
      fc.property(changes, (steps) => {
        const maps = [{ real: GrowingMap.empty<number>(), model: new Map<number, number>() }]
        for (const { to, key: k, value } of steps) {
          const before = maps[to % maps.length] as (typeof maps)[number]
          maps.push({ real: before.real.set(k, value), model: new Map(before.model).set(k, value) })
        }
        for (const { real, model } of maps) {
          for (let k = 0; k <= 5; k++) {
            expect(real.get(k)).toBe(model.get(k))
            expect(real.has(k)).toBe(model.has(k))
          }
        }
      }),
    )
  })

  it('that is empty keeps nothing of what is set in it', () => {
    const empty = GrowingMap.empty<object>()
    const filled = empty.set(1, {}).set(2, {})
    expect(filled.length).toBe(2)
    expect(empty.get(1)).toBeUndefined()
    // What follows from an empty map has a log of its own: it does not copy what others set.
    const other = empty.set(3, {})
    expect(other.keys()).toEqual([3])
    expect(filled.keys()).toEqual([1, 2])
  })

  it('sets several keys at once, and tells its keys in their order', () => {
    const map = GrowingMap.empty<true>().setAll([3, 1], true).set(2, true)
    expect(map.keys()).toEqual([3, 1, 2])
    expect(map.setAll([], true)).toBe(map)
    expect(GrowingMap.empty().keys()).toEqual([])
  })
})
