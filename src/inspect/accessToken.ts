import { randomBytes, timingSafeEqual } from 'node:crypto'
import { answer } from './answers.ts'

/** Bytes of chance in a token. */
const TOKEN_BYTES = 32

/** Lets in whoever has opened the URL with the token: it becomes a cookie, so that it stands in no later address. */
export class AccessToken {
  readonly token: string = randomBytes(TOKEN_BYTES).toString('base64url')
  /** Cookies do not know ports: another inspector of this machine has one of another name. */
  readonly #cookie: string

  constructor(port: number) {
    this.#cookie = `loopchart_inspect_${port}`
  }

  /** The answer to a request that is not let in yet; `undefined` for one that is. */
  challenge(request: Request): Response | undefined {
    const url = new URL(request.url)
    const given = url.searchParams.get('token')
    if (given !== null && request.method === 'GET' && this.#fits(given)) {
      url.searchParams.delete('token')
      return answer(null, {
        status: 303,
        headers: {
          location: `${url.pathname}${url.search}`,
          'set-cookie': `${this.#cookie}=${this.token}; Path=/; HttpOnly; SameSite=Strict`,
        },
      })
    }
    if (
      this.#fits(bearerOf(request)) ||
      cookiesOf(request, this.#cookie).some((value) => this.#fits(value))
    ) {
      return undefined
    }
    return answer('Open the address with the token that was printed when the inspector started.\n', {
      status: 401,
      type: 'text/plain; charset=utf-8',
    })
  }

  /** Takes as long whatever is given. */
  #fits(given: string): boolean {
    const expected = Buffer.from(this.token)
    const bytes = Buffer.alloc(expected.length)
    const length = bytes.write(given)
    return (
      timingSafeEqual(bytes, expected) && length === expected.length && given.length === this.token.length
    )
  }
}

function bearerOf(request: Request): string {
  return /^bearer (\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1] ?? ''
}

function cookiesOf(request: Request, name: string): readonly string[] {
  return (request.headers.get('cookie') ?? '').split(/;\s*/).flatMap((pair) => {
    const at = pair.indexOf('=')
    return at > 0 && pair.slice(0, at) === name ? [pair.slice(at + 1)] : []
  })
}
