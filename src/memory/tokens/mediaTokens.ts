import type { Fields } from '../../messages/fields.ts'

/**
 * Tokens of an image in high detail, of which only the address is known: as one of 1024 × 1024 pixels, 85 and 170 for
 * each of its four tiles. https://platform.openai.com/docs/guides/images-vision#calculating-costs
 */
export const IMAGE_TOKENS: number = 85 + 4 * 170

/** The same page: an image in low detail, of whatever size. */
const LOW_DETAIL_IMAGE_TOKENS = 85

/** Base64 characters of a tenth of a second, for which OpenAI's audio models take one token. */
const AUDIO_CHARS_PER_TOKEN = {
  /** 24,000 samples a second of two bytes each. */
  wav: 6400,
  /** 64 kilobits a second. */
  mp3: 1067,
}

/** An audio that is known by its id: half a minute. */
const AUDIO_TOKENS = 300

/** A page of a document is read as its text and as an image. */
const PAGE_TOKENS = 700 + IMAGE_TOKENS

/** Base64 characters of a page: 37 kilobytes. */
const PAGE_CHARS = 50_000

/** An estimate from `detail` alone: `auto` counts as `high`. */
export function imageTokens(detail: unknown): number {
  return detail === 'low' ? LOW_DETAIL_IMAGE_TOKENS : IMAGE_TOKENS
}

/** An estimate of audio from the length of its data. Formats other than WAV are taken for MP3. */
export function audioTokens({ data, format }: Fields): number {
  if (typeof data !== 'string') return AUDIO_TOKENS
  return Math.ceil(data.length / (format === 'wav' ? AUDIO_CHARS_PER_TOKEN.wav : AUDIO_CHARS_PER_TOKEN.mp3))
}

/** An estimate of a document from the length of its data; one known by its id or address has one page. */
export function fileTokens({ file_data: data }: Fields): number {
  return PAGE_TOKENS * (typeof data === 'string' ? Math.max(1, Math.ceil(data.length / PAGE_CHARS)) : 1)
}
