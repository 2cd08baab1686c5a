/**
 * A language model of the AI SDK, as its providers make them: `openai('gpt-5')`, `anthropic('claude-sonnet-4-5')` and
 * dozens more. Said in as few words as possible instead of importing the types, so that the models of every version of
 * `@ai-sdk/provider` fit (`LanguageModelV2`, `V3`, `V4`) and no package of the AI SDK has to be there.
 *
 * https://ai-sdk.dev/providers/community-providers/custom-providers
 */
export interface AiSdkLanguageModel {
  /** `v2`, `v3` or `v4`. */
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
  doGenerate(options: object): PromiseLike<object>
  doStream(options: object): PromiseLike<object>
}
