/** JSON text of anything: what JSON cannot say (cycles, big numbers, functions, what throws) is told in words. */
export function plainJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null'
  } catch {
    return JSON.stringify(plain(value, [])) ?? 'null'
  }
}

function plain(value: unknown, above: readonly object[]): unknown {
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return value
  if (above.includes(value)) return '(the same again)'
  const within = [...above, value]
  try {
    const { toJSON } = value as { toJSON?: unknown }
    if (typeof toJSON === 'function') return plain(toJSON.call(value), within)
    if (Array.isArray(value)) return value.map((item) => plain(item, within))
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item, within)]))
  } catch {
    return '(cannot be shown)'
  }
}
