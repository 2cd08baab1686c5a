import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

export interface CliResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface CliOptions {
  readonly env?: Record<string, string>
  readonly input?: string
  /** Called with everything written so far, each time something is written. */
  readonly onOutput?: (text: string, kill: (signal: NodeJS.Signals) => void) => void
}

/** Runs the command with no key and no colours, unless the environment says otherwise. */
export function loopchart(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const {
    OPENAI_API_KEY: _key,
    OPENAI_BASE_URL: _url,
    LOOPCHART_MODEL: _model,
    FORCE_COLOR: _force,
    ...env
  } = process.env
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...env, ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.end(options.input ?? '')
  const written = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (piece: string) => {
      written[name] += piece
      options.onOutput?.(written.stdout + written.stderr, (signal) => child.kill(signal))
    })
  }
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, ...written }))
  })
}
