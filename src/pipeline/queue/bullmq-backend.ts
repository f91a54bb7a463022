import {
  createRedisBackend,
  PostgresConnection,
  PostgresQueueBackend,
  runMigrations,
  type ConnectionOptions,
  type PostgresConnectionOptions,
} from 'bullmq'
import { Redis } from 'ioredis'
import type { Pool } from 'pg'
import { postgresConfig, postgresPool } from './postgres-connection.ts'
import type { QueueUrl } from './queue-url.ts'
import { redisOptions } from './redis-connection.ts'

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
 * @param queries so many connections may be in use at once besides the one that waits for deliveries; PostgreSQL has few
 * @throws what the client throws when it cannot connect
 */
export async function openBackend(url: QueueUrl, namespace: string, queries: number): Promise<Backend> {
  return url.kind === 'postgres'
    ? openPostgres(url, `${namespace}_bullmq`, queries)
    : openRedis(url, namespace)
}

const shared = new Map<string, { readonly backend: Promise<Backend>; users: number }>()

/**
 * The same for all in this process who ask for it: a PostgreSQL server has few connections.
 * @throws what the client throws when it cannot connect
 */
export async function shareBackend(url: QueueUrl, namespace: string, queries: number): Promise<Backend> {
  const key = `${namespace} ${url.href}`
  const entry = shared.get(key) ?? { backend: openBackend(url, namespace, queries), users: 0 }
  shared.set(key, entry)
  entry.users++
  const leave = () => {
    if (--entry.users > 0) return false
    if (shared.get(key) === entry) shared.delete(key)
    return true
  }
  try {
    const backend = await entry.backend
    return {
      ...backend,
      async close() {
        if (leave()) await backend.close()
      },
    }
  } catch (error) {
    leave()
    throw error
  }
}

/** All queues and workers of it share one pool, and one connection that listens. */
async function openPostgres(url: QueueUrl, schema: string, queries: number): Promise<Backend> {
  const config = postgresConfig(url)
  const options = `${config.options} -c search_path="${schema}"`
  const pool = postgresPool({ ...config, options }, queries + 1)
  try {
    const client = await pool.connect()
    try {
      await runMigrations(client, schema, { skipVersionCheck: true })
    } finally {
      client.release()
    }
  } catch (error) {
    void pool.end()
    throw error
  }
  const connection = new PoolConnection(pool, schema)
  const factory = (name: string, queueOptions: PostgresOptions) =>
    new PostgresQueueBackend(connection, name, queueOptions, true)
  return {
    factory: factory as unknown as typeof createRedisBackend,
    options: { connection: {}, skipVersionCheck: true },
    async close() {
      await connection.end()
      await pool.end()
    },
  }
}

/** What it is closed by, one queue or worker must not take from the others. */
type PostgresOptions = ConstructorParameters<typeof PostgresQueueBackend>[2]

class PoolConnection extends PostgresConnection {
  constructor(pool: Pool, schema: string) {
    super(pool as unknown as PostgresConnectionOptions)
    // A pool brings neither.
    Object.assign(this, { schema, skipVersionCheck: true })
    this.setMaxListeners(0)
    this.on('error', () => {})
  }

  /**
   * The schema has been made ready before. BullMQ would ask once more, and keep the answer for good: if the server was away
   * just then, its worker would ask itself without a pause, and nothing else could run.
   */
  override async waitUntilReady(): Promise<void> {}

  override async close(): Promise<void> {}

  end(): Promise<void> {
    return super.close()
  }
}

async function openRedis(url: QueueUrl, namespace: string): Promise<Backend> {
  const clients: Redis[] = []
  let isClosing = false
  const keep = (client: Redis): Redis => {
    client.on('error', () => {})
    clients.push(client)
    const duplicate = client.duplicate.bind(client)
    // Each worker makes one of its own to wait on.
    client.duplicate = (override) => keep(duplicate(override))
    return client
  }
  const connection = keep(
    new Redis({
      ...redisOptions(url),
      // A worker waits for its server; what it does twice does no harm.
      retryStrategy: (times) => (isClosing ? null : Math.min(times * 100, 2_000)),
      maxRetriesPerRequest: null,
      enableOfflineQueue: true,
      autoResendUnfulfilledCommands: true,
    }),
  )
  connection.setMaxListeners(0)
  try {
    await connection.connect()
  } catch (error) {
    connection.disconnect()
    throw error
  }
  return {
    factory: createRedisBackend,
    options: { connection, prefix: `{${namespace}}:bull`, skipVersionCheck: true },
    async close() {
      isClosing = true
      await Promise.all(clients.map(end))
    },
  }
}

/** One that waits to connect again would be forgotten as it is, and whoever waits for its end with it: it has to try. */
async function end(client: Redis): Promise<void> {
  if (client.status === 'reconnecting') await client.connect().catch(() => {})
  client.disconnect()
}
