/** Models that answer a request which names a temperature with an error: OpenAI's reasoning models. */
const REFUSES_TEMPERATURE = /(^|\/)(o\d|gpt-5(?!-chat)|codex)/

/** Models that are known not to reason. */
const NEVER_REASONS = /(^|[/:])(gpt-3|gpt-4|chatgpt-|gpt-\d[\w.]*-chat)/

/**
 * OpenAI's reasoning models take no temperature, so the default of 0 is not sent to them; a temperature that the
 * caller chose is, and the provider's error is then the caller's to read.
 */
export function temperatureField(
  model: string,
  temperature: number | null = 0,
): { readonly temperature?: number } {
  if (temperature === null || (temperature === 0 && REFUSES_TEMPERATURE.test(model))) return {}
  return { temperature }
}

/** OpenAI's reasoning models renamed the field of chat completions; other servers know only the old name. */
export function maxTokensField(model: string): 'max_completion_tokens' | 'max_tokens' {
  return REFUSES_TEMPERATURE.test(model) ? 'max_completion_tokens' : 'max_tokens'
}

/** Whether a model may have reasoning to hand over. Those that have none answer a request for it with an error. */
export function mayReason(model: string): boolean {
  return !NEVER_REASONS.test(model)
}
