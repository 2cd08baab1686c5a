import type { Tool } from '../tools/tool.ts'
import { calculate } from './calculate.ts'
import { convertUnits } from './convertUnits.ts'
import { getTime } from './getTime.ts'
import { getWeather } from './getWeather.ts'

/** Tools for trying things out: no network, no side effects. */
export const exampleTools: readonly Tool[] = [calculate, getWeather, getTime, convertUnits]
