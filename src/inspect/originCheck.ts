import { RequestError } from './answers.ts'

/**
 * Refuses what another site asks for through the browser of somebody who may look at the inspector. A browser says on
 * whose behalf it asks: by `Origin`, and by `Sec-Fetch-Site` where it sends that.
 *
 * @param origins Origins that are the inspector's own, beside the one that the request was sent to: behind a proxy, which
 * may rename the host.
 * @throws RequestError `foreign_origin`.
 */
export function refuseForeign(request: Request, origins: readonly string[]): void {
  const origin = request.headers.get('origin')
  const site = request.headers.get('sec-fetch-site')
  if (origin !== null) {
    if (origins.includes(origin) || hostIn(origin) === hostOf(request)) return
    throw foreign(`the page at ${origin}`)
  }
  // Without an origin it is a page that is opened, or a program that is none of a browser.
  if (site === 'cross-site' && request.headers.get('sec-fetch-mode') !== 'navigate')
    throw foreign('another site')
  if (request.method === 'POST' && site !== null && site !== 'same-origin') throw foreign('another site')
}

/** The host that a request was sent to. */
export function hostOf(request: Request): string {
  return (request.headers.get('host') ?? new URL(request.url).host).toLowerCase()
}

function hostIn(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined
}

function foreign(who: string): RequestError {
  return new RequestError(
    403,
    'foreign_origin',
    `The inspector answers its own page only, not ${who}. Where a proxy stands before it, name the address that people ` +
      "see: inspectHandler({ origins: ['https://app.example.com'] }).",
  )
}
