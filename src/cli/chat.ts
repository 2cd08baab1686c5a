import { createInterface } from 'node:readline/promises'
import type { Session } from './session.ts'

/** A prompt that asks again and again. Ctrl-C stops the run under way; at the prompt it leaves, as Ctrl-D does. */
export async function chat(
  session: Session,
  input: NodeJS.ReadStream,
  output: NodeJS.WriteStream,
): Promise<void> {
  const lines = createInterface({ input, output, prompt: '> ' })
  let running: AbortController | undefined
  lines.on('SIGINT', () => {
    if (running === undefined) lines.close()
    else running.abort()
  })
  output.write('Ask something. Ctrl-D leaves.\n')
  lines.prompt()
  for await (const line of lines) {
    const question = line.trim()
    if (question === 'exit' || question === 'quit') break
    if (question !== '') {
      running = new AbortController()
      await session.ask(question, running.signal)
      running = undefined
    }
    lines.prompt()
  }
  lines.close()
}
