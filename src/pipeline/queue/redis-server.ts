import { isIP } from 'node:net'
import { createRedisBackend, type ConnectionOptions } from 'bullmq'
import { Redis, type RedisOptions } from 'ioredis'
import { UsageError, type ModelgateError } from '../../errors.ts'
import { loss, reasonOf, refused, refuseServer, unreachable, type QueueUrl } from './queue-url.ts'

/** The connections that BullMQ works over. */
export interface Backend {
  /** Queues and workers need no more of it than all backends have. */
  readonly factory: typeof createRedisBackend
  /** Of queues and workers that are made with the factory. */
  readonly options: {
    readonly connection: ConnectionOptions
    readonly prefix?: string
    readonly skipVersionCheck: true
  }
  /** Ends all connections, whatever goes on over them. */
  close(): Promise<void>
}

/**
 * Connects to Redis or Valkey, whose settings are checked first. A connection that is lost is made again, for as long as
 * that takes.
 * @param namespace what all keys begin with, in braces
 * @throws UsageError `queue_unsafe`, `queue_refused`; ModelgateError `queue_unreachable`
 */
export async function openRedis(url: QueueUrl, namespace: string): Promise<Backend> {
  const clients: Redis[] = []
  let isOpen = false
  let reason: unknown
  const keep = (client: Redis): Redis => {
    client.on('error', (error) => (reason ??= error))
    clients.push(client)
    const duplicate = client.duplicate.bind(client)
    // Each worker makes one of its own to wait on.
    client.duplicate = (override) => keep(duplicate(override))
    return client
  }
  const connection = keep(
    new Redis({
      ...redisOptions(url),
      // What is sent twice does no harm.
      retryStrategy: (times) => (isOpen ? Math.min(times * 100, 2_000) : null),
      maxRetriesPerRequest: null,
      enableOfflineQueue: true,
      autoResendUnfulfilledCommands: true,
    }),
  )
  connection.setMaxListeners(0)
  try {
    await connection.connect()
    // By itself it only tells of a refused database, and goes on in the first one. Refused credentials are found so, too.
    await connection.select(connection.options.db ?? 0)
    await checkSettings(connection, url)
  } catch (error) {
    connection.disconnect()
    throw openingError(reason ?? error, url)
  }
  isOpen = true
  return {
    factory: createRedisBackend,
    options: { connection, prefix: `{${namespace}}:bull`, skipVersionCheck: true },
    async close() {
      isOpen = false
      await Promise.all(clients.map(end))
    },
  }
}

/** One that waits to connect again would be forgotten as it is, and whoever waits for its end with it: it has to try. */
async function end(client: Redis): Promise<void> {
  if (client.status === 'reconnecting') await client.connect().catch(() => {})
  client.disconnect()
}

/** How to connect, for `ioredis`. */
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

/**
 * Whether the server keeps what it has answered: an append-only file that is on the disk before the answer, and no key that
 * it may drop. What CONFIG GET may not tell is taken from INFO.
 * @throws UsageError `queue_unsafe`: it does not, or will not say so
 */
async function checkSettings(client: Redis, url: QueueUrl): Promise<void> {
  const refuse = (problem: string, hint: string) => refuseServer(url, problem, hint)
  const info = infoOf(await client.info().catch(() => ''))
  const setting = async (name: string) => ((await client.config('GET', name).catch(() => [])) as string[])[1]
  const unknown = (what: string) =>
    refuse(`it does not report ${what}.`, 'Allow the commands INFO and CONFIG GET to its user.')

  const version = info.get('redis_version') ?? unknown('its version')
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major < 6 || (major === 6 && minor < 2))
    refuse(`Redis ${version} is too old.`, 'Use Redis 6.2 or newer, or Valkey.')
  if (info.get('redis_mode') === 'cluster' || info.get('cluster_enabled') === '1')
    refuse('it is a node of a cluster.', 'Use a server of its own, without cluster mode.')
  if (info.get('role') === 'slave')
    refuse('it is a replica, which cannot be written.', 'Give the address of the primary server.')
  const policy =
    info.get('maxmemory_policy') ?? (await setting('maxmemory-policy')) ?? unknown('its maxmemory-policy')
  if (policy !== 'noeviction') {
    refuse(
      `its maxmemory-policy is ${policy}, so that it may forget what has been sent and paid for.`,
      'Set maxmemory-policy noeviction in its configuration.',
    )
  }
  const isAppended =
    (info.get('aof_enabled') ?? ((await setting('appendonly')) === 'yes' ? '1' : undefined)) === '1'
  if (!isAppended)
    refuse(`appendonly is no, ${loss}`, 'Set appendonly yes and appendfsync always in its configuration.')
  const fsync = (await setting('appendfsync')) ?? unknown('its appendfsync')
  if (fsync !== 'always')
    refuse(`appendfsync is ${fsync}, ${loss}`, 'Set appendfsync always in its configuration.')
  if ((await setting('no-appendfsync-on-rewrite')) === 'yes')
    refuse(
      `no-appendfsync-on-rewrite is yes, ${loss}`,
      'Set no-appendfsync-on-rewrite no in its configuration.',
    )
}

/** The lines of INFO: `name:value`. */
function infoOf(text: string): ReadonlyMap<string, string> {
  const lines = text.split('\r\n').filter((line) => line.includes(':'))
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]))
}

/** What only another address can mend is wrong usage. */
function openingError(error: unknown, url: QueueUrl): ModelgateError {
  if (error instanceof UsageError) return error
  const reason = reasonOf(error, url)
  if (/^(?:WRONGPASS|NOAUTH|NOPERM|ERR invalid password|ERR AUTH)/.test(reason)) {
    const hint =
      'They are part of the URL: redis://USER:PASSWORD@HOST. The user needs the keys and channels of modelgate, and all commands but dangerous ones.'
    return refused(url, `refuses the user or the password: ${reason}`, hint)
  }
  if (/^ERR .*\bDB index\b/.test(reason))
    return refused(url, 'has no such database.', 'Correct the number at the end of the URL, or leave it out.')
  return unreachable(url, error)
}
