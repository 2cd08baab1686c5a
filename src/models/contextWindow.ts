import { MisuseError } from '../errors.ts'

/** Tokens of request and reply together. https://platform.openai.com/docs/models; the first that fits holds. */
const CONTEXT_WINDOWS: readonly (readonly [id: RegExp, tokens: number])[] = [
  [/(^|[/:])gpt-4\.1/, 1_047_576],
  [/(^|[/:])(gpt-4o|chatgpt-4o|gpt-4-turbo|gpt-4\.5|gpt-5-chat)/, 128_000],
  [/(^|[/:])gpt-5/, 400_000],
  [/(^|[/:])o1-(mini|preview)/, 128_000],
  [/(^|[/:])o\d/, 200_000],
  [/(^|[/:])gpt-4-(1106|0125|vision)/, 128_000],
  [/(^|[/:])gpt-4-32k/, 32_768],
  [/(^|[/:])gpt-4/, 8_192],
  [/(^|[/:])gpt-3\.5-turbo/, 16_385],
]

/** The context window of a model of OpenAI; `undefined` for others, whose window is the server's affair. */
export function knownContextWindow(model: string): number | undefined {
  return CONTEXT_WINDOWS.find(([id]) => id.test(model))?.[1]
}

/** @throws MisuseError `invalid_option` for anything but a whole number of at least 1, or nothing. */
export function checkedContextWindow(service: string, tokens: number | undefined): number | undefined {
  if (tokens === undefined || (Number.isInteger(tokens) && tokens >= 1)) return tokens
  throw new MisuseError(
    'invalid_option',
    `${service}: contextWindow must be a whole number of tokens of at least 1, not ${String(tokens)}.`,
  )
}
