import { RequestError } from './answers.ts'

/** The most bytes of a body. */
const MOST_BYTES = 1_000_000

/**
 * The JSON object that a request brings. A form of another site cannot send one of this type.
 *
 * @throws RequestError `json_required`, `too_large` or `invalid_json`.
 */
export async function bodyOf(request: Request): Promise<Readonly<Record<string, unknown>>> {
  const [type = ''] = (request.headers.get('content-type') ?? '').split(';')
  if (type.trim().toLowerCase() !== 'application/json') {
    throw new RequestError(415, 'json_required', 'The body has to be JSON: content-type: application/json.')
  }
  const text = new TextDecoder().decode(await bytesOf(request))
  try {
    const body: unknown = text === '' ? {} : JSON.parse(text)
    if (typeof body === 'object' && body !== null && !Array.isArray(body)) return { ...body }
  } catch {
    // Told below.
  }
  throw new RequestError(400, 'invalid_json', 'The body has to be a JSON object.')
}

async function bytesOf(request: Request): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of request.body ?? []) {
    size += piece.byteLength
    if (size > MOST_BYTES) {
      throw new RequestError(413, 'too_large', `The body has more than ${MOST_BYTES} bytes.`)
    }
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}
