import type { Attributes } from '@opentelemetry/api'
import type { Usage } from '../messages/reply.ts'

/**
 * Names of the semantic conventions for generative AI, which are still in development:
 * https://opentelemetry.io/docs/specs/semconv/gen-ai/
 */
export const ATTRIBUTES = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  agentName: 'gen_ai.agent.name',
  requestModel: 'gen_ai.request.model',
  responseModel: 'gen_ai.response.model',
  finishReasons: 'gen_ai.response.finish_reasons',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cachedTokens: 'gen_ai.usage.cache_read.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  tokenType: 'gen_ai.token.type',
  toolName: 'gen_ai.tool.name',
  toolType: 'gen_ai.tool.type',
  callId: 'gen_ai.tool.call.id',
  callArguments: 'gen_ai.tool.call.arguments',
  callResult: 'gen_ai.tool.call.result',
  instructions: 'gen_ai.system_instructions',
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  toolDefinitions: 'gen_ai.tool.definitions',
  errorType: 'error.type',
  runId: 'loopchart.run.id',
  resumed: 'loopchart.run.resumed',
  status: 'loopchart.run.status',
  reason: 'loopchart.run.reason',
  steps: 'loopchart.run.steps',
  cost: 'loopchart.run.cost',
  limit: 'loopchart.limit',
  place: 'loopchart.place',
  closing: 'loopchart.closing',
  attempts: 'loopchart.attempts',
} as const

export function usageAttributes({
  inputTokens,
  outputTokens,
  cachedTokens,
  reasoningTokens,
}: Usage): Attributes {
  return {
    [ATTRIBUTES.inputTokens]: inputTokens,
    [ATTRIBUTES.outputTokens]: outputTokens,
    ...(cachedTokens === 0 ? {} : { [ATTRIBUTES.cachedTokens]: cachedTokens }),
    ...(reasoningTokens === 0 ? {} : { [ATTRIBUTES.reasoningTokens]: reasoningTokens }),
  }
}
