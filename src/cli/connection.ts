import { MisuseError } from '../errors.ts'
import type { Model } from '../models/model.ts'
import { openaiChat } from '../models/openaiChat.ts'
import { startOfflineEndpoint } from '../offline/endpoint.ts'
import type { AskOptions } from './arguments.ts'

const DEFAULT_MODEL = 'gpt-4.1-mini'

/** A model to talk to, and what to say about it. */
export interface Connection {
  readonly model: Model
  /** Where it is, for people. */
  readonly address: string
  /** What has to be said before the first answer. */
  readonly notice?: string
  /** What the last failing call threw, with its stack, for `--verbose`. */
  lastError(): unknown
  close(): Promise<void>
}

type Environment = Readonly<Record<string, string | undefined>>

/** Connects to the endpoint that the options or the environment name; where none is named, starts the stand-in. */
export async function connect(options: AskOptions, env: Environment): Promise<Connection> {
  const apiKey = env.OPENAI_API_KEY || undefined
  const baseURL = options.baseURL ?? (env.OPENAI_BASE_URL || undefined)
  if (apiKey === undefined && baseURL === undefined) return standIn(options)
  if (baseURL !== undefined && !URL.canParse(baseURL)) {
    throw new MisuseError(
      'usage',
      `OPENAI_BASE_URL must be a URL such as http://localhost:11434/v1, not "${baseURL}".`,
    )
  }
  const id = options.model ?? (env.LOOPCHART_MODEL || DEFAULT_MODEL)
  const model = openaiChat(id, {
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(baseURL === undefined ? {} : { baseURL }),
  })
  return { ...remembering(model), address: `${id} at ${baseURL ?? 'api.openai.com'}`, close: async () => {} }
}

async function standIn(options: AskOptions): Promise<Connection> {
  if (options.model !== undefined) {
    throw new MisuseError(
      'usage',
      `--model ${options.model} needs an endpoint: set OPENAI_API_KEY, or OPENAI_BASE_URL for another server.`,
    )
  }
  const endpoint = await startOfflineEndpoint()
  const model = openaiChat(endpoint.model, { baseURL: endpoint.baseURL, apiKey: 'offline' })
  return {
    ...remembering(model),
    address: `${endpoint.model} at ${endpoint.baseURL}`,
    notice:
      'OPENAI_API_KEY is not set, so a built-in stand-in answers: a small set of rules, not a language model. ' +
      'It knows weather (sample data), arithmetic, time and units.',
    close: () => endpoint.close(),
  }
}

function remembering(model: Model): Pick<Connection, 'model' | 'lastError'> {
  let last: unknown
  return {
    lastError: () => last,
    model: {
      id: model.id,
      async generate(request, io) {
        try {
          return await model.generate(request, io)
        } catch (thrown) {
          last = thrown
          throw thrown
        }
      },
    },
  }
}
