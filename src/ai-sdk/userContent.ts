import type { LanguageModelV4FilePart, LanguageModelV4TextPart } from '@ai-sdk/provider'
import { fieldsOf } from '../messages/fields.ts'
import type { ContentPart } from '../messages/types.ts'
import { ModelError } from '../models/modelError.ts'

type UserPart = LanguageModelV4TextPart | LanguageModelV4FilePart

/** `data:image/png;base64,…` */
const DATA_URL = /^data:([^;,]+)(?:;[^;,]*)*;base64,(.*)$/s

/**
 * What a user said, as parts of a prompt. Images by URL are left for the provider to fetch, and not all of them do;
 * `data:` URLs reach every model that sees. A part that has a `mediaType` is taken for a part of the AI SDK.
 *
 * @throws ModelError `bad_request` for a part that the AI SDK cannot express, such as a file's id.
 */
export function userContent(content: string | readonly ContentPart[]): UserPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content.map(userPart)
}

function userPart(part: ContentPart): UserPart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text }
    case 'image_url':
      return filePart(part.image_url.url, 'image/*') ?? inexpressible(part.type)
    case 'input_audio': {
      const { data, format } = fieldsOf(part.input_audio)
      const mediaType = format === 'mp3' ? 'audio/mpeg' : `audio/${format}`
      return typeof data === 'string' ? base64Part(data, mediaType) : inexpressible(part.type)
    }
    default: {
      if (typeof fieldsOf(part).mediaType === 'string') return part as unknown as LanguageModelV4FilePart
      const { file_data: data, filename } = fieldsOf(fieldsOf(part).file)
      const file = typeof data === 'string' ? filePart(data, 'application/octet-stream') : undefined
      if (file === undefined) return inexpressible(part.type)
      return typeof filename === 'string' ? { ...file, filename } : file
    }
  }
}

function filePart(url: string, mediaType: string): LanguageModelV4FilePart | undefined {
  const [, ownMediaType, data] = DATA_URL.exec(url) ?? []
  if (ownMediaType !== undefined && data !== undefined) return base64Part(data, ownMediaType)
  return URL.canParse(url) ? { type: 'file', mediaType, data: { type: 'url', url: new URL(url) } } : undefined
}

function base64Part(data: string, mediaType: string): LanguageModelV4FilePart {
  return { type: 'file', mediaType, data: { type: 'data', data } }
}

function inexpressible(type: string): never {
  throw new ModelError(
    'bad_request',
    `A part of type "${type}" cannot be sent through the AI SDK as it is.`,
    {
      retryable: false,
    },
  )
}
