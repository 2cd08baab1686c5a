import { MisuseError } from '../../errors.ts'
import type { Random } from '../random.ts'

/** How long something takes, in milliseconds: always the same, evenly between two numbers, or as a function says. */
export type Latency = number | readonly [least: number, most: number] | ((random: Random) => number)

/** @throws MisuseError `invalid_option` for what is no latency. */
export function checkedLatency(name: string, latency: Latency): (random: Random) => number {
  if (typeof latency === 'function') return latency
  const [least, most] = typeof latency === 'number' ? [latency, latency] : latency
  if (Number.isFinite(most) && least >= 0 && least <= most)
    return (random) => least + random() * (most - least)
  throw new MisuseError(
    'invalid_option',
    `${name} must be milliseconds, a pair of them such as [500, 3000], or a function, not ${JSON.stringify(latency)}.`,
  )
}
