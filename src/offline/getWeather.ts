import { z } from 'zod'
import { defineTool } from '../tools/defineTool.ts'
import type { Tool } from '../tools/tool.ts'
import { findCity, listCities } from './cities.ts'

/**
 * Tells sample weather. Arguments: `{ city }`, in English or Chinese. Result: `{ city, temperature_c, condition,
 * humidity_percent, note }`.
 *
 * Throws for a city that is not in the table.
 */
export const getWeather: Tool = defineTool({
  name: 'get_weather',
  description: 'Tells the weather in a city. Sample data for demonstrations, not a forecast.',
  input: z.object({ city: z.string().trim().min(1).max(100).describe('For example "Paris" or "北京"') }),
  idempotent: true,
  run: ({ city }) => {
    const found = findCity(city)
    if (found === undefined) {
      throw new Error(`no sample weather for ${JSON.stringify(city)}. Known cities: ${listCities()}`)
    }
    const { temperatureC, condition, humidityPercent } = found.weather
    return {
      city: found.name,
      temperature_c: temperatureC,
      condition,
      humidity_percent: humidityPercent,
      note: 'sample data, not a forecast',
    }
  },
})
