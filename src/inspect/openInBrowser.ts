import { spawn } from 'node:child_process'

/** What opens an address with the program that is meant for it. */
const openers: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ['open'],
  // `start` is a word of the shell, and takes the first text in quotes for a title.
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** Opens an address in the browser, where there is one; nothing happens otherwise. */
export function openInBrowser(url: string): void {
  const [command, ...args] = openers[process.platform] ?? ['xdg-open']
  const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true })
  // A machine without a desktop has no such program; the address was printed anyway.
  child.on('error', () => {})
  child.unref()
}
