import { vi } from 'vitest'

/** What a program prints, call by call, where there is no key: it runs without the network. */
export async function printedWithoutKey(main: () => Promise<void>): Promise<readonly (readonly unknown[])[]> {
  vi.stubEnv('OPENAI_API_KEY', '')
  const log = vi.spyOn(console, 'log').mockReturnValue()
  try {
    await main()
    return log.mock.calls.slice()
  } finally {
    log.mockRestore()
    vi.unstubAllEnvs()
  }
}
