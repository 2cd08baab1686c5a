/**
 * A number of 53 bits that stands for a text: the same for the same text, and in practice another for any other. It is
 * what the loop remembers of calls and results, which may be long. Two lanes of multiplicative hashing in the manner of
 * FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/), not meant to withstand somebody who looks for collisions.
 */
export function fingerprint(text: string): number {
  let low = 0x811c9dc5
  let high = 0x9747b28c
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    low = Math.imul(low ^ unit, 0x01000193)
    high = Math.imul(((high << 5) | (high >>> 27)) ^ unit, 0x9e3779b1)
  }
  return joined(scattered(high), scattered(low))
}

/** The fingerprint of two of them, in this order. */
export function paired(first: number, second: number): number {
  const high = Math.imul(first / HALF, 0x9e3779b1) ^ (second / HALF)
  const low = Math.imul(first, 0x01000193) ^ second
  return joined(scattered(high + low), scattered(low))
}

const HALF = 2 ** 32

/** 21 and 32 bits as one number. */
function joined(high: number, low: number): number {
  return (high >>> 11) * HALF + low
}

/** Spreads a hash over all of its 32 bits (the finishing step of MurmurHash3), so that any of them can be a sample. */
export function scattered(hash: number): number {
  let h = hash
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}
