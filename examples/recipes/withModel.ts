import { type Model, type OpenAIChatOptions, openaiChat } from 'loopchart'
import { startOfflineEndpoint } from 'loopchart/offline'

/**
 * Gives a recipe the model of the environment: OPENAI_API_KEY and, if you like, OPENAI_BASE_URL and LOOPCHART_MODEL. Without
 * a key it is the built-in stand-in, which needs no network.
 */
export async function withModel(
  use: (model: Model) => Promise<void>,
  options: OpenAIChatOptions = {},
): Promise<void> {
  const { OPENAI_API_KEY: key, LOOPCHART_MODEL: id = 'gpt-4.1' } = process.env
  if (key) return use(openaiChat(id, options))
  const endpoint = await startOfflineEndpoint()
  try {
    await use(openaiChat(endpoint.model, { ...options, baseURL: endpoint.baseURL }))
  } finally {
    await endpoint.close()
  }
}
