// Takes the pictures of the inspector that the documents show: from the real page, with a run that is made up here.
//
//   npm run screenshots
import { mkdirSync, statSync } from 'node:fs'
import { chromium, type Page } from 'playwright-core'
import { z } from 'zod'
import { createAgent, defineTool, memoryJournal } from '../src/index.ts'
import { inspect } from '../src/inspect/index.ts'
import { type ScriptedReply, scriptedModel } from '../src/testing/index.ts'

const FOLDER = 'docs/images'

/** Bytes: documents are to load at once. */
const MOST_BYTES = 200_000

const usage = (inputTokens: number, outputTokens: number) => ({ inputTokens, outputTokens })

const asks = (
  text: string,
  tokens: number,
  ...calls: readonly (readonly [name: string, args: unknown])[]
): ScriptedReply => ({
  text,
  calls: calls.map(([name, args]) => ({ name, arguments: args })),
  usage: usage(tokens, 64),
  delayMs: 240,
})

const busy = Object.assign(new Error('The provider is overloaded.'), {
  code: 'overloaded',
  retryable: true,
  retryAfterMs: 120,
})

const script = [
  asks(
    'I compare the fares and look at the weather.',
    1240,
    ['search_flights', { from: 'BER', to: 'LIS', day: 'Monday' }],
    ['get_weather', { city: 'Lisbon' }],
    ['get_weather', { city: 'Porto' }],
  ),
  busy,
  asks('Lisbon it is.', 1980, ['search_hotels', { city: 'Lisbon', nights: 2 }]),
  asks('I book the cheaper flight.', 2310, ['book_flight', { flight: 'AF 1024', seat: '12A' }]),
]

/** A tool that takes so many milliseconds. */
function tool(name: string, ms: number, result: unknown, needsApproval = false) {
  return defineTool({
    name,
    description: `A stand-in for ${name}.`,
    input: z.looseObject({}),
    needsApproval,
    run: () => new Promise((resolve) => setTimeout(resolve, ms, result)),
  })
}

const journal = memoryJournal()
const tools = [
  tool('search_flights', 430, {
    flights: [
      { flight: 'LH 1166', price: 412 },
      { flight: 'AF 1024', price: 388 },
    ],
  }),
  tool('get_weather', 260, '21 degrees, a light wind from the west.'),
  tool('search_hotels', 340, { hotels: [{ name: 'Bairro Alto', price: 140 }] }),
  tool('book_flight', 100, 'Booked.', true),
]
const prices = { scripted: { input: 2, output: 8 } }

/** Runs that are older in the list: how they are asked, and how they answer. */
const earlier = [
  ['How many metres are 26.2 miles?', '42,164.81 metres.'],
  ['北京今天天气怎么样？', '北京今天 21 度，西风微弱。'],
  ['Summarise the report of the third quarter', 'Sales grew by 4 percent, costs by 2.'],
] as const

const small = createAgent({
  name: 'travel',
  model: scriptedModel(earlier.map(([, text]) => ({ text, usage: usage(860, 42) }))),
  journal,
  prices,
})
for (const [question] of earlier) await small.run(question)
await small.run('Cancel this one', { signal: AbortSignal.abort() })

const agent = createAgent({
  name: 'travel',
  model: scriptedModel(script),
  tools,
  journal,
  prices,
  limits: { tokens: 60_000 },
  instructions: 'You plan journeys. Be brief.',
})
const inspector = await inspect({ agent })
await agent.run('Book the cheapest flight to Lisbon on Monday, and a hotel for two nights', { runId: 'trip' })

mkdirSync(FOLDER, { recursive: true })
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
  // Letters in grey instead of colours: a third fewer bytes.
  args: ['--no-sandbox', '--disable-lcd-text'],
})

interface Picture {
  readonly name: string
  readonly width: number
  readonly height: number
  readonly colorScheme: 'light' | 'dark'
  /** Leads the page to what is to be shown. */
  prepare(page: Page): Promise<void>
}

const pictures: readonly Picture[] = [
  {
    name: 'inspector',
    width: 1280,
    height: 720,
    colorScheme: 'light',
    prepare: (page) => page.locator('.row-tool', { hasText: 'search_flights' }).click(),
  },
  {
    name: 'inspector-dark',
    width: 1280,
    height: 720,
    colorScheme: 'dark',
    async prepare(page) {
      await page.keyboard.press('End')
      await page.locator('.approval').waitFor()
    },
  },
  {
    name: 'inspector-narrow',
    width: 390,
    height: 760,
    colorScheme: 'light',
    async prepare(page) {
      await page.getByRole('button', { name: 'calls only' }).click()
      await page.locator('.row-tool', { hasText: 'search_hotels' }).click()
    },
  },
]

try {
  for (const { name, width, height, colorScheme, prepare } of pictures) {
    const page = await browser.newPage({ viewport: { width, height }, colorScheme, locale: 'en-US' })
    await page.goto(inspector.url)
    await page.goto(new URL('#/run/trip', page.url()).href)
    await page.locator('.row').first().waitFor()
    await page.keyboard.press('Home')
    await page.locator('.row-tool').first().waitFor()
    await prepare(page)
    const path = `${FOLDER}/${name}.png`
    await page.screenshot({ path, animations: 'disabled' })
    await page.close()
    const { size } = statSync(path)
    console.log(`${path}: ${size} bytes`)
    if (size > MOST_BYTES) throw new Error(`${path} has ${size} bytes, more than ${MOST_BYTES}.`)
  }
} finally {
  await browser.close()
  await inspector.close()
}
