import { type Fields, fieldsOf } from '../messages/fields.ts'

/** What a server answers a call with, as far as it is understood here. */
export interface McpResult {
  readonly text: string | undefined
  readonly isError: boolean
}

/**
 * The result of a call as text for a model: texts as they are, in order, with everything else described in words.
 * `structuredContent` stands in where there is no text. `undefined` where there is nothing at all.
 */
export function readResult(result: unknown): McpResult {
  const { content, structuredContent, isError } = fieldsOf(result)
  const parts = Array.isArray(content) ? content.map(fieldsOf) : []
  const pieces = parts.map(describePart)
  if (structuredContent !== undefined && !parts.some(hasText))
    pieces.unshift(JSON.stringify(structuredContent))
  return { text: pieces.length === 0 ? undefined : pieces.join('\n'), isError: isError === true }
}

function hasText({ type, text, resource }: Fields): boolean {
  return type === 'text' ? typeof text === 'string' : typeof fieldsOf(resource).text === 'string'
}

function describePart(part: Fields): string {
  switch (part.type) {
    case 'text':
      return String(part.text)
    case 'image':
    case 'audio':
      return `(${list(part.type, part.mimeType, sizeOf(part.data))}; not shown)`
    case 'resource':
      return describeResource(fieldsOf(part.resource))
    case 'resource_link':
      return `(${list(`link to the resource ${part.uri}`, part.name, part.mimeType, inBytes(part.size), part.description)})`
    default:
      return `(content of the type ${JSON.stringify(part.type)}; not shown)`
  }
}

function describeResource({ uri, mimeType, text, blob }: Fields): string {
  const name = `resource ${uri}`
  if (typeof text === 'string') return `(${list(name, mimeType)})\n${text}`
  return `(${list(name, mimeType, sizeOf(blob))}; not shown)`
}

function list(...facts: readonly unknown[]): string {
  return facts.filter((fact) => fact !== undefined && fact !== '').join(', ')
}

function sizeOf(base64: unknown): string | undefined {
  return typeof base64 === 'string' ? inBytes(Buffer.byteLength(base64, 'base64')) : undefined
}

function inBytes(size: unknown): string | undefined {
  return typeof size === 'number' ? `${size} bytes` : undefined
}
