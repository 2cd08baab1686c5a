import { fileURLToPath } from 'node:url'
import type { ViteUserConfig } from 'vitest/config'

const config: ViteUserConfig = {
  resolve: {
    alias: [
      { find: /^loopchart$/, replacement: fileURLToPath(new URL('src/index.ts', import.meta.url)) },
      { find: /^loopchart\/(.*)$/, replacement: fileURLToPath(new URL('src/$1/index.ts', import.meta.url)) },
    ],
  },
  test: {
    include: ['test/**/*.test.ts', 'examples/**/*.test.ts'],
    testTimeout: 20_000,
  },
}

export default config
