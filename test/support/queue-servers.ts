import { once } from 'node:events'
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { closedPort } from './local-server.ts'

/** A server of a queue of the test's own, on loopback, with a folder of its own. */
export type QueueServer = Awaited<ReturnType<typeof keepServer>>

export const hasRedis = spawnSync('redis-server', ['--version']).status === 0

const postgresPrograms = findPostgres()
export const hasPostgres = postgresPrograms !== undefined

function findPostgres(): string | undefined {
  const versions = '/usr/lib/postgresql'
  const folders = existsSync(versions)
    ? readdirSync(versions).map((version) => join(versions, version, 'bin'))
    : []
  return folders.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')))
}

/** The servers that a queue can be on, each as a queue needs it. */
export const queueServers = [
  { name: 'Redis', needs: 'redis-server', isThere: hasRedis, start: () => startRedis() },
  { name: 'PostgreSQL', needs: 'postgresql', isThere: hasPostgres, start: () => startPostgres() },
] as const

/** @param settings lines of its configuration, besides what makes it durable */
export async function startRedis(settings: Readonly<Record<string, string>> = {}): Promise<QueueServer> {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-redis-'))
  const port = await closedPort()
  const all = { appendonly: 'yes', appendfsync: 'always', save: '', ...settings }
  const args = Object.entries({ port: String(port), bind: '127.0.0.1', dir: folder, ...all })
  const words = args.flatMap(([name, value]) => [`--${name}`, value])
  return keepServer({
    folder,
    url: `redis://127.0.0.1:${port}`,
    spawn: () => spawn('redis-server', words, { stdio: ['ignore', 'pipe', 'inherit'] }),
    isReady: /Ready to accept connections/,
  })
}

/** @param settings of its configuration, besides what makes it small */
export async function startPostgres(settings: Readonly<Record<string, string>> = {}): Promise<QueueServer> {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-postgres-'))
  const data = join(folder, 'data')
  const port = await closedPort()
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? postgresUser() : undefined
  chmodSync(folder, 0o755)
  if (user !== undefined) chownSync(folder, user.uid, user.gid)
  const options = { ...user, cwd: folder, env: { PATH: process.env['PATH'], LC_ALL: 'C' } }
  const flags = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync', '--no-instructions']
  const initdb = join(postgresPrograms!, 'initdb')
  const { status, stderr } = spawnSync(initdb, flags, { ...options, encoding: 'utf8' })
  if (status !== 0) throw new Error(`initdb ended with ${status}: ${stderr}`)
  const all = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: folder,
    shared_buffers: '16MB',
    max_connections: '300',
    logging_collector: 'off',
    ...settings,
  }
  const words = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const program = join(postgresPrograms!, 'postgres')
  return keepServer({
    folder,
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    spawn: () => spawn(program, ['-D', data, ...words], { ...options, stdio: ['ignore', 'ignore', 'pipe'] }),
    isReady: /database system is ready to accept/,
    // The fast shutdown: it ends connections rather than waiting for them.
    stopSignal: 'SIGINT',
  })
}

function postgresUser(): { readonly uid: number; readonly gid: number } {
  const id = (flag: string) => Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout)
  return { uid: id('-u'), gid: id('-g') }
}

interface ServerParts {
  readonly folder: string
  readonly url: string
  readonly spawn: () => ChildProcess
  /** What it says when it can be used. */
  readonly isReady: RegExp
  readonly stopSignal?: NodeJS.Signals
}

async function keepServer({ folder, url, spawn, isReady, stopSignal = 'SIGTERM' }: ServerParts) {
  let child: ChildProcess | undefined

  const start = async () => {
    // The processes of a killed PostgreSQL hold its memory until they have noticed.
    for (;;) {
      const said = await startOnce()
      if (said === undefined) return
      if (!said.includes('pre-existing shared memory block'))
        throw new Error(`The server did not start:\n${said}`)
    }
  }

  /** @returns undefined, or what it said before it ended */
  const startOnce = async (): Promise<string | undefined> => {
    const { promise, resolve, reject } = Promise.withResolvers<string | undefined>()
    let said = ''
    child = spawn()
    child.once('error', reject)
    child.once('exit', () => resolve(said))
    // Read to the end, so that it never waits for its reader.
    ;(child.stdout ?? child.stderr)!.on('data', (chunk: Buffer) => {
      if (isReady.test(said)) return
      said += chunk.toString()
      if (isReady.test(said)) resolve(undefined)
    })
    return promise
  }

  const end = async (signal: NodeJS.Signals) => {
    const ending = child
    child = undefined
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return
    const ended = once(ending, 'exit')
    ending.kill(signal)
    await ended
  }

  const server = {
    url,
    start,
    /** As an operator does: what is under way is ended, and nothing lost. */
    stop: () => end(stopSignal),
    /** As a power cut does, as far as processes go. */
    kill: () => end('SIGKILL'),
    /** Ends it and removes its folder. */
    async remove() {
      // In order: what PostgreSQL shares between its processes would stay behind.
      await end(stopSignal)
      rmSync(folder, { recursive: true, force: true })
    },
  }
  try {
    await start()
  } catch (error) {
    await server.remove()
    throw error
  }
  return server
}

/** A server that lasts as long as the test. */
export async function forTest(starting: Promise<QueueServer>): Promise<QueueServer> {
  const server = await starting
  onTestFinished(() => server.remove())
  return server
}
