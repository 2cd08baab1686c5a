import { createHash } from 'node:crypto'
import { isToolName } from '../messages/sendable.ts'

/** The most characters of a name that providers take. */
const LONGEST_NAME = 64

/** Characters of a digest that tell names apart which would be the same otherwise. */
const DIGEST_LENGTH = 8

/**
 * Names that providers take, by the server's own. A name that is fit stays as it is; in others, what is not allowed
 * becomes `_`, with a digest of the server's name where that is too long or meets another name. The order in which a
 * server lists its tools has no say, so a resumed run finds each tool under the name that it had.
 */
export function toolNames(originals: readonly string[], prefix: string): ReadonlyMap<string, string> {
  const plain = originals.map((original) => `${prefix}${original.replace(/[^a-zA-Z0-9_-]/g, '_')}`)
  const isAmbiguous = (name: string): boolean => plain.indexOf(name) !== plain.lastIndexOf(name)
  return new Map(
    originals.map((original, i) => {
      const name = plain[i] ?? ''
      const isOriginal = name === `${prefix}${original}`
      const isFit = isToolName(name) && (isOriginal || !isAmbiguous(name))
      return [original, isFit ? name : withDigest(name, original)]
    }),
  )
}

function withDigest(name: string, original: string): string {
  const digest = createHash('sha256').update(original).digest('hex').slice(0, DIGEST_LENGTH)
  return `${name.slice(0, LONGEST_NAME - DIGEST_LENGTH - 1)}_${digest}`
}
