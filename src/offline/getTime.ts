import { z } from 'zod'
import { defineTool } from '../tools/defineTool.ts'
import type { Tool } from '../tools/tool.ts'
import { findCity, listCities } from './cities.ts'

/**
 * Tells the current time. Arguments: `{ zone }`, an IANA time zone or a known city. Result: `{ zone, date, time,
 * weekday, utc_offset }`, with `date` as YYYY-MM-DD, `time` as HH:MM:SS and `utc_offset` as +HH:MM.
 *
 * Throws for a zone that is neither.
 */
export const getTime: Tool = defineTool({
  name: 'get_time',
  description: 'Tells the current date and time in a time zone or city.',
  input: z.object({
    zone: z
      .string()
      .trim()
      .min(1)
      .max(100)
      .describe('IANA time zone or city, such as "Asia/Tokyo" or "东京"'),
  }),
  idempotent: true,
  run: ({ zone }) => {
    const format = formatFor(zone)
    const parts = new Map(format.formatToParts(Date.now()).map(({ type, value }) => [type, value]))
    const part = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? ''
    return {
      zone: format.resolvedOptions().timeZone,
      date: `${part('year')}-${part('month')}-${part('day')}`,
      time: `${part('hour')}:${part('minute')}:${part('second')}`,
      weekday: part('weekday'),
      // Older Node writes a plain GMT where there is no offset.
      utc_offset: part('timeZoneName').replace('GMT', '') || '+00:00',
    }
  },
})

function formatFor(zone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone: findCity(zone)?.zone ?? zone,
      weekday: 'long',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      hourCycle: 'h23',
      timeZoneName: 'longOffset',
    })
  } catch (cause) {
    throw new Error(
      `unknown time zone ${JSON.stringify(zone)}. Give an IANA zone such as "Asia/Tokyo", or one of these cities: ` +
        listCities(),
      { cause },
    )
  }
}
