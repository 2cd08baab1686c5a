import { type Model, type OpenAIChatOptions, openaiChat } from 'loopchart'
import { startOfflineEndpoint } from 'loopchart/offline'
import { type ScriptedStep, scriptedModel } from 'loopchart/testing'

interface ModelOptions extends OpenAIChatOptions {
  /** What the model says without a key, where the stand-in cannot play its part. Default: the stand-in. */
  readonly script?: readonly ScriptedStep[]
}

/**
 * Gives a recipe the model of the environment: OPENAI_API_KEY and, if you like, OPENAI_BASE_URL and LOOPCHART_MODEL. Without
 * a key it is the built-in stand-in, or one that follows a script; neither needs the network.
 */
export async function withModel(
  use: (model: Model) => Promise<void>,
  { script, ...options }: ModelOptions = {},
): Promise<void> {
  const { OPENAI_API_KEY: key, LOOPCHART_MODEL: id = 'gpt-4.1' } = process.env
  if (key) return use(openaiChat(id, options))
  if (script !== undefined) return use(scriptedModel(script))
  const endpoint = await startOfflineEndpoint()
  try {
    await use(openaiChat(endpoint.model, { ...options, baseURL: endpoint.baseURL }))
  } finally {
    await endpoint.close()
  }
}
