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
  let isOpen = true
  lines.on('SIGINT', () => {
    if (running === undefined) lines.close()
    else running.abort()
  })
  lines.on('close', () => {
    isOpen = false
    running?.abort()
  })
  output.write('Ask something. Ctrl-D or "exit" leaves, Ctrl-C stops an answer.\n')
  lines.prompt()
  for await (const line of lines) {
    const question = line.trim()
    if (question === 'exit' || question === 'quit') break
    if (question !== '') {
      running = new AbortController()
      await session.ask(question, running.signal)
      running = undefined
    }
    if (isOpen) lines.prompt()
  }
  lines.close()
  output.write('\n')
}
