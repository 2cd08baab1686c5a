import type { Usage } from '../../../messages/reply.ts'
import { count } from './format.ts'
import type { Texts } from './texts.ts'

export function usageText(usage: Usage, { details }: Texts): string {
  const { inputTokens, cachedTokens, outputTokens, reasoningTokens, estimated } = usage
  return [
    `${details.input} ${count(inputTokens)}`,
    ...(cachedTokens === 0 ? [] : [`${details.cached} ${count(cachedTokens)}`]),
    `${details.output} ${count(outputTokens)}`,
    ...(reasoningTokens === 0 ? [] : [`${details.reasoning} ${count(reasoningTokens)}`]),
    ...(estimated === true ? [details.estimated] : []),
  ].join(' · ')
}
