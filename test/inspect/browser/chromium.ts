import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import axe from 'axe-core'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest'
import {
  type InspectHandlerOptions,
  type InspectOptions,
  inspect,
  inspectHandler,
  nodeListener,
} from '../../../src/inspect/index.ts'

const executablePath = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'

/** In a build that is to prove something, a browser that is missing is a failure. */
const isSkipped = !existsSync(executablePath) && process.env.CI === undefined

const BROWSER_TIMEOUT_MS = 60_000

/** Tests that need a browser. Without one they are skipped, and the report says why. */
export function describeInBrowser(name: string, tests: (browser: InBrowser) => void): void {
  const title = isSkipped ? `${name} (skipped: no Chromium at ${executablePath}, set CHROMIUM_PATH)` : name
  describe.skipIf(isSkipped)(title, { timeout: BROWSER_TIMEOUT_MS }, () => tests(inBrowser()))
}

export interface InBrowser {
  /** Starts the inspector and opens its page. */
  open(options: InspectOptions & Look): Promise<Page>
  /** Opens a page at an address; what it complains of fails the test. */
  page(url: string, look?: Look): Promise<Page>
  /** Serves the inspector as a backend would that has it mounted. */
  mount(options: InspectHandlerOptions & { readonly port?: number }): Promise<Mounted>
  /** Called when the test is over. */
  after(cleanUp: () => unknown): void
}

export interface Mounted {
  readonly port: number
  readonly url: string
  /** Ends it, with all connections. */
  close(): Promise<void>
  /** Breaks all connections, and goes on. */
  breakConnections(): void
}

/** How the browser looks at the page. */
export interface Look {
  readonly width?: number
  readonly height?: number
  readonly colorScheme?: 'light' | 'dark'
  readonly locale?: string
  /** Where in the page to begin, such as `#/run/r`. */
  readonly hash?: string
  /** Complaints in the browser's console that the test brings about on purpose. */
  readonly expected?: RegExp
}

function inBrowser(): InBrowser {
  let browser: Browser
  const cleanUps: (() => unknown)[] = []
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  }, BROWSER_TIMEOUT_MS)
  afterAll(() => browser.close())
  afterEach(async () => {
    for (let cleanUp = cleanUps.pop(); cleanUp !== undefined; cleanUp = cleanUps.pop()) await cleanUp()
  })

  async function page(url: string, look: Look = {}): Promise<Page> {
    const { width = 1280, height = 800, colorScheme = 'light', locale = 'en-US', expected } = look
    const options: BrowserContextOptions = { viewport: { width, height }, colorScheme, locale }
    const context = await browser.newContext(options)
    const opened = await context.newPage()
    const complaints: string[] = []
    opened.on('pageerror', (error) => complaints.push(String(error)))
    opened.on('console', (message) => {
      const isExpected = expected?.test(message.text()) === true
      if (['error', 'warning'].includes(message.type()) && !isExpected) complaints.push(message.text())
    })
    opened.on('dialog', (dialog) => {
      complaints.push(`a dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    cleanUps.push(async () => {
      await opened.screenshot({ path: pictureOf(expect.getState().currentTestName ?? '', cleanUps.length) })
      await context.close()
      expect(complaints, 'what the page complained of').toEqual([])
    })
    await opened.goto(url)
    if (look.hash !== undefined) await opened.goto(new URL(look.hash, opened.url()).href)
    return opened
  }

  async function mount({ port = 0, ...options }: Parameters<InBrowser['mount']>[0]): Promise<Mounted> {
    const handler = inspectHandler({ basePath: '/admin/inspect', ...options })
    const server = createServer(nodeListener(handler))
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    const { port: taken } = server.address() as AddressInfo
    const close = async (): Promise<void> => {
      handler.close()
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    }
    cleanUps.push(close)
    return {
      port: taken,
      url: `http://127.0.0.1:${taken}/admin/inspect`,
      close,
      breakConnections: () => server.closeAllConnections(),
    }
  }

  return {
    page,
    mount,
    after: (cleanUp) => cleanUps.push(cleanUp),
    async open(options) {
      const inspector = await inspect(options)
      cleanUps.push(() => inspector.close())
      return page(inspector.url, options)
    },
  }
}

/** Where a picture is kept of how a page stood at the end of a test; people look at it, not git. */
function pictureOf(test: string, position: number): string {
  const name = test.replace(/[^\p{L}\d]+/gu, '-').slice(0, 120)
  return `artefacts/${name}-${position}.png`
}

/** What axe finds wrong with a page, in words. */
export async function barriersOf(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source)
  const { violations } = (await page.evaluate('axe.run()')) as axe.AxeResults
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
  )
}
