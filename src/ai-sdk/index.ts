export { type AiSdkModelOptions, aiSdkModel } from './aiSdkModel.ts'
export type { AiSdkLanguageModel } from './languageModel.ts'
