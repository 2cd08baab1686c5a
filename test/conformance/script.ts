import type { Model } from '../../src/index.ts'
import type { Loopback } from '../support/loopback.ts'

/** What a model answers one request with, in terms that no provider knows. */
export type Turn =
  | {
      readonly calls: readonly ScriptedCall[]
      /** Said before the calls. */
      readonly saying?: string
      /** The reply stops at the output limit. Its calls look whole, and may not be. */
      readonly cut?: true
    }
  | { readonly answer: string }
  | { readonly empty: true }
  /** No reply ever comes. */
  | { readonly hangs: true }

/** A turn in which something is said. */
export type SpokenTurn = Exclude<Turn, { readonly hangs: true }>

export interface ScriptedCall {
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
}

/** One turn for each request, or one that is found from what the request says, for runs that go on at once. */
export type Script = readonly Turn[] | ((request: string) => Turn)

/** A model of the kind under test that follows a script, and what it was asked. */
export interface Provider extends AsyncDisposable {
  readonly model: Model
  /** The bodies of the requests so far. */
  readonly requests: readonly unknown[]
}

/** A provider that is a server, and a model that asks it. */
export function providerAt(server: Loopback, model: Model): Provider {
  return {
    model,
    get requests() {
      return server.requests.map(({ body }) => body)
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

export type MakeModel = (script: Script) => Promise<Provider>

/** The turn for the request at this position. */
export function turnAt(script: Script, position: number, request: unknown): Turn {
  if (typeof script === 'function') return script(JSON.stringify(request))
  const turn = script[position]
  if (turn === undefined) throw new Error(`the script has no turn for request ${position + 1}`)
  return turn
}

/** The same script for a model that makes one call at a time. A function has to give such turns itself. */
export function oneCallAtATime(script: Script): Script {
  if (typeof script === 'function') return script
  return script.flatMap((turn): readonly Turn[] =>
    'calls' in turn ? turn.calls.map((call) => ({ ...turn, calls: [call] })) : [turn],
  )
}
