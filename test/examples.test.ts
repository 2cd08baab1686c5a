import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { main as compareMemories } from '../examples/compareMemories.ts'
import { main as insideYourMachine } from '../examples/insideYourMachine.ts'
import { main as liveActor } from '../examples/liveActor.ts'
import { main as quickstart } from '../examples/quickstart.ts'
import { main as resume } from '../examples/resume.ts'
import { main as statelyInspector } from '../examples/statelyInspector.ts'
import { read } from './project/repository.ts'

const printed: string[] = []

beforeEach(() => {
  printed.length = 0
  vi.spyOn(console, 'log').mockImplementation((line: unknown) => {
    printed.push(String(line))
  })
})
afterEach(() => {
  vi.restoreAllMocks()
})

describe('the example', () => {
  it('quickstart calls its tool and answers', async () => {
    await quickstart()
    expect(printed).toEqual(['calls get_weather {"city":"Paris"}', expect.stringContaining('21 °C')])
  })

  it('compareMemories prints the table of docs/memory.md', async () => {
    await compareMemories()
    expect(read('docs/memory.md')).toContain(
      `<!-- printed by: node examples/compareMemories.ts -->\n${printed.join('\n')}\n<!-- end -->`,
    )
  })

  it('liveActor shows the states of a live actor', async () => {
    await liveActor()
    expect(printed).toContain('"executingTools"')
    expect(printed.at(-1)).toContain('152')
  })

  it('insideYourMachine invokes the agent, twice', async () => {
    await insideYourMachine()
    expect(printed).toEqual([expect.stringContaining('3.1'), expect.stringContaining('16404'), 'sent'])
  })

  it('resume waits for a person and goes on', async () => {
    await resume()
    expect(printed).toEqual([
      'may convert_units run with {"value":5,"from":"km","to":"miles"}?',
      expect.stringContaining('3.1'),
    ])
  })

  it("statelyInspector feeds Stately's inspector", async () => {
    const port = await freePort()
    const running = statelyInspector(port)
    await vi.waitFor(() => expect(printed.at(-1)).toContain('152'), { timeout: 10_000 })
    // What a page would be told: the server repeats what it has heard to whoever connects.
    const page = new WebSocket(`ws://localhost:${port}`)
    const heard = new Set<unknown>()
    page.addEventListener('message', ({ data }) => {
      const { snapshot } = JSON.parse(String(data)) as { snapshot?: { value?: unknown } }
      heard.add(JSON.stringify(snapshot?.value))
    })
    await vi.waitFor(() => expect(heard).toContain('"done"'), { timeout: 10_000 })
    expect(heard).toContain('"executingTools"')
    page.close()
    process.emit('SIGINT')
    await running
  })
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
