import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { aiSdkModel } from '../../src/ai-sdk/index.ts'
import { describeLoop } from './behaviours.ts'
import { chatServer, nativeReplies } from './chatServer.ts'
import { type MakeModel, providerAt } from './script.ts'

const makeModel: MakeModel = async (script) => {
  const server = await chatServer(script, nativeReplies())
  const provider = createOpenAICompatible({
    name: 'local',
    baseURL: server.baseURL,
    includeUsage: true,
    supportsStructuredOutputs: true,
  })
  return providerAt(server, aiSdkModel(provider('m')))
}

describeLoop('aiSdkModel', makeModel)
describeLoop('aiSdkModel, streamed', makeModel, { streamed: true })
