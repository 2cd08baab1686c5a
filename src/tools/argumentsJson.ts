/** Texts that may hold a key by which a prototype can be reached, in plain or escaped letters. */
const SUSPICIOUS = /__proto__|constructor|\\u/

/**
 * The value of a JSON text, without the keys that would change a prototype where arguments are copied or merged:
 * `__proto__`, and a `constructor` that has a `prototype`.
 *
 * @throws SyntaxError for what is not JSON.
 */
export function argumentsJson(text: string): unknown {
  return SUSPICIOUS.test(text) ? JSON.parse(text, withoutPrototypes) : JSON.parse(text)
}

function withoutPrototypes(key: string, value: unknown): unknown {
  const isDangerous =
    key === '__proto__' ||
    (key === 'constructor' &&
      typeof value === 'object' &&
      value !== null &&
      Object.hasOwn(value, 'prototype'))
  return isDangerous ? undefined : value
}
