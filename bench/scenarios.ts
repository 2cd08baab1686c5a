import { OpenAI } from 'openai'
import { type Agent, createAgent } from '../src/agent.ts'
import type { Outcome } from '../src/machines/outcome.ts'
import type { Model } from '../src/models/model.ts'
import { openaiChat } from '../src/models/openaiChat.ts'
import { defineTool } from '../src/tools/defineTool.ts'
import { type Contest, contestOf, type Side, type Tally } from './contest.ts'
import { FakeModel } from './fakeModel.ts'
import { askOnce, askStreaming } from './handWrittenAsk.ts'
import { type Ask, type HandTool, handTool, handWrittenLoop } from './handWrittenLoop.ts'
import { MODEL } from './replies.ts'
import type { BenchServer } from './serverProcess.ts'
import { type AdditionTool, INSTRUCTIONS, QUESTION } from './task.ts'

export type ScenarioName = 'loop' | 'http' | 'streaming'

/** Without HTTP: a function in this process hands both loops the same finished replies. */
export function loopAlone(steps: number): Contest {
  const models = { loopchart: new FakeModel(steps), byHand: new FakeModel(steps) }
  return contestOf((side) => models[side].calls, {
    loopchart: ({ tool }) => running(agentOf(models.loopchart, tool)),
    byHand: ({ tool }) => byHand(tool, () => () => models.byHand.ask()),
  })
}

/** Over loopback HTTP, each reply in one piece. */
export function http(steps: number, server: BenchServer): Contest {
  const path = (side: Side): string => `/http/${steps}/${side}`
  return contestOf((side) => server.served(path(side)), {
    loopchart: ({ tool }) => running(agentOf(modelAt(server.origin + path('loopchart')), tool)),
    byHand({ tool }) {
      const client = clientAt(server.origin + path('byHand'))
      return byHand(tool, (tools) => askOnce(client, MODEL, tools))
    },
  })
}

/** Over loopback HTTP, each reply streamed and its text looked at as it comes. */
export function streaming(steps: number, server: BenchServer): Contest {
  const path = (side: Side): string => `/streaming/${steps}/${side}`
  return contestOf((side) => server.served(path(side)), {
    loopchart: (tally) => watching(agentOf(modelAt(server.origin + path('loopchart')), tally.tool), tally),
    byHand(tally) {
      const client = clientAt(server.origin + path('byHand'))
      const onText = (text: string): void => {
        tally.shown += text.length
      }
      return byHand(tally.tool, (tools) => askStreaming(client, MODEL, tools, onText))
    },
  })
}

function agentOf(model: Model, tool: AdditionTool): Agent {
  return createAgent({
    model,
    tools: [defineTool(tool)],
    instructions: INSTRUCTIONS,
    limits: { steps: Number.POSITIVE_INFINITY },
  })
}

function running(agent: Agent): () => Promise<string> {
  return async () => answerOf(await agent.run(QUESTION))
}

function watching(agent: Agent, tally: Tally): () => Promise<string> {
  return async () => {
    const run = agent.stream(QUESTION)
    for await (const event of run) if (event.type === 'model.delta') tally.shown += event.text.length
    return answerOf(await run.outcome)
  }
}

function answerOf(outcome: Outcome): string {
  if (outcome.status === 'done') return outcome.output
  throw new Error(`The run ended as ${outcome.status}: ${JSON.stringify(outcome).slice(0, 500)}`)
}

function byHand(tool: AdditionTool, askWith: (tools: readonly HandTool[]) => Ask): () => Promise<string> {
  const tools = new Map([[tool.name, handTool(tool)]])
  const ask = askWith([...tools.values()])
  return () => handWrittenLoop(ask, tools, INSTRUCTIONS, QUESTION)
}

function modelAt(baseURL: string): Model {
  return openaiChat(MODEL, { baseURL, apiKey: 'bench' })
}

function clientAt(baseURL: string): OpenAI {
  return new OpenAI({ baseURL, apiKey: 'bench', maxRetries: 0 })
}
