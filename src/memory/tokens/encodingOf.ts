/** An encoding of OpenAI's, under the name that js-tiktoken gives to its ranks. */
export type EncodingName = 'o200k_base' | 'cl100k_base'

/** GPT-4 but not GPT-4o, 4.1 or 4.5, everything before it (Azure leaves out the dot of 3.5), and embeddings. */
const CL100K_MODEL = /^(?:gpt-4(?![\w.])|gpt-3\.?5|text-embedding-)/

/** What routers and fine-tuning put before the id of a model: `openai/`, `openrouter/openai/`, `ft:`. */
const PREFIX = /^(?:.*\/)?(?:ft:)?/

/** The encoding of a model. Of models that are unknown, o200k_base is taken: the encoding of all newer ones. */
export function encodingOf(model: string): EncodingName {
  return CL100K_MODEL.test(model.replace(PREFIX, '')) ? 'cl100k_base' : 'o200k_base'
}
