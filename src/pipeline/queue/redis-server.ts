import { isIP } from 'node:net'
import { createRedisBackend, type ConnectionOptions } from 'bullmq'
import { Redis, type RedisOptions } from 'ioredis'
import { loss, openingError, refuseServer, type QueueUrl } from './queue-url.ts'

export interface Backend {
  readonly factory: typeof createRedisBackend
  readonly options: {
    readonly connection: ConnectionOptions
    readonly prefix?: string
    readonly skipVersionCheck: true
  }
  close(): Promise<void>
}

/** A connection that is lost is made again, for as long as that takes. */
export async function openRedis(url: QueueUrl, namespace: string): Promise<Backend> {
  let isOpen = false
  let reason: unknown
  // Each worker makes one of its own, with the same options, to wait on.
  const connection = new Redis({
    ...redisOptions(url),
    // What is sent twice does no harm.
    retryStrategy: (times) => (isOpen ? Math.min(times * 100, 2_000) : null),
    maxRetriesPerRequest: null,
    enableOfflineQueue: true,
    autoResendUnfulfilledCommands: true,
  })
  connection.on('error', (error) => (reason ??= error))
  connection.setMaxListeners(0)
  try {
    await connection.connect()
    // By itself it only reports a refused database, and continues in the first one. This finds refused credentials, too.
    await connection.select(connection.options.db ?? 0)
    await checkSettings(connection, url)
  } catch (error) {
    connection.disconnect()
    throw openingError(url, reason ?? error)
  }
  isOpen = true
  return {
    factory: createRedisBackend,
    options: { connection, prefix: `{${namespace}}:bull`, skipVersionCheck: true },
    async close() {
      isOpen = false
      connection.disconnect()
    },
  }
}

export function redisOptions({ href }: QueueUrl): Omit<RedisOptions, 'replyMapping'> {
  const { protocol, hostname, port, username, password, pathname } = new URL(href)
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  return {
    host,
    port: port === '' ? 6379 : Number(port),
    username: decodeURIComponent(username),
    password: decodeURIComponent(password),
    db: Number(pathname.slice(1)),
    // Certificates are checked whatever the environment says. An address is no server name (RFC 6066, section 3).
    ...(protocol === 'rediss:' && {
      tls: { rejectUnauthorized: true, ...(isIP(host) === 0 && { servername: host }) },
    }),
    protocol: 2,
    lazyConnect: true,
    connectTimeout: 10_000,
    keepAlive: 10_000,
  }
}

/** What makes a server keep what it has answered: on the disk before the answer, and never dropped. */
const neededSettings = {
  appendonly: 'yes',
  appendfsync: 'always',
  'no-appendfsync-on-rewrite': 'no',
  'maxmemory-policy': 'noeviction',
} as const

async function checkSettings(client: Redis, url: QueueUrl): Promise<void> {
  const info = await client.info().catch(() => '')
  const factOf = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? ''
  const [major = 0, minor = 0] = factOf('redis_version').split('.').map(Number)
  const pairs = (await client.config('GET', '*').catch(() => [])) as string[]
  const settingOf = (name: string) => pairs[pairs.indexOf(name) + 1]
  const names = Object.keys(neededSettings) as (keyof typeof neededSettings)[]
  if (info === '' || names.some((name) => !pairs.includes(name))) {
    refuseServer(
      url,
      'it does not report its settings.',
      'Allow the commands INFO and CONFIG GET to its user.',
    )
  }
  if (major < 6 || (major === 6 && minor < 2))
    refuseServer(url, `Redis ${factOf('redis_version')} is too old.`, 'Use Redis 6.2 or newer, or Valkey.')
  if (factOf('redis_mode') === 'cluster')
    refuseServer(url, 'it is a node of a cluster.', 'Use a server of its own, without cluster mode.')
  if (factOf('role') === 'slave')
    refuseServer(url, 'it is a replica, which cannot be written.', 'Give the address of the primary server.')
  const wrong = names.filter((name) => settingOf(name) !== neededSettings[name])
  if (wrong.length === 0) return
  const found = wrong.map((name) => `${name} is ${settingOf(name)}`).join(' and ')
  const needed = wrong.map((name) => `${name} ${neededSettings[name]}`).join(' and ')
  refuseServer(url, `${found}, ${loss}`, `Set ${needed} in its configuration.`)
}
