import type { InspectSwitch } from '../inspectSwitch.ts'
import { Hub } from './hub.ts'
import { serve } from './inspect.ts'

/** Starts the one inspector for all agents of this process, and says where it is. It keeps the process from nothing. */
export async function inspectProcess({ port }: InspectSwitch): Promise<Hub> {
  const hub = new Hub()
  const { url } = await serve(hub, { port })
  process.stderr.write(`loopchart inspector: ${url}\n`)
  return hub
}
