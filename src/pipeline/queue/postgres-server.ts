import {
  PostgresConnection,
  PostgresQueueBackend,
  runMigrations,
  type createRedisBackend,
  type PostgresConnectionOptions,
} from 'bullmq'
import { Pool, type PoolClient, type PoolConfig } from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'
import { UsageError } from '../../errors.ts'
import { loss, openingError, reasonOf, refuseServer, type QueueUrl } from './queue-url.ts'
import type { Backend } from './redis-server.ts'

/** Five that may be in use at once, and one that waits for deliveries. */
const maxConnections = 6

/**
 * Makes BullMQ's tables ready: a worker that starts before them would ask for them without a pause. All queues and
 * workers share one pool, and one connection that listens.
 */
export async function openPostgres(url: QueueUrl, namespace: string): Promise<Backend> {
  const schema = `${namespace}_bullmq`
  const pool = new Pool({ ...postgresConfig(url, schema), max: maxConnections })
  // One that breaks is noticed by whoever uses it next; without listeners the process would end.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  try {
    const client = await pool.connect()
    try {
      await checkSettings(client, url)
      await runMigrations(client, schema, { skipVersionCheck: true })
    } finally {
      client.release()
    }
  } catch (error) {
    void pool.end()
    throw openingError(url, error)
  }
  const connection = new PoolConnection(pool, schema)
  const factory = (name: string, options: ConstructorParameters<typeof PostgresQueueBackend>[2]) =>
    new PostgresQueueBackend(connection, name, options, true)
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
class PoolConnection extends PostgresConnection {
  constructor(pool: Pool, schema: string) {
    super(pool as unknown as PostgresConnectionOptions)
    // A pool brings neither.
    Object.assign(this, { schema, skipVersionCheck: true })
    this.setMaxListeners(0)
    this.on('error', () => {})
  }

  /**
   * BullMQ would ask again, and keep the answer for good: if the server was away just then, its worker would ask itself
   * without a pause, and nothing else could run.
   */
  override async waitUntilReady(): Promise<void> {}

  override async close(): Promise<void> {}

  end(): Promise<void> {
    return super.close()
  }
}

/** For `pg` itself: its variables (PGPASSWORD, PGSSLMODE, PGSSLROOTCERT) count where the URL says nothing. */
function postgresConfig(url: QueueUrl, schema: string): PoolConfig {
  const address = new URL(url.href)
  // To `pg` these three mean `verify-full`; it says so at each start.
  if (/^(?:prefer|require|verify-ca)$/.test(address.searchParams.get('sslmode') ?? '')) {
    if (!address.searchParams.has('uselibpqcompat')) address.searchParams.set('sslmode', 'verify-full')
  }
  let config: PoolConfig
  try {
    config = parseIntoClientConfig(address.href) as PoolConfig
  } catch (error) {
    throw new UsageError(`The address of the queue at ${url.shown} is wrong: ${reasonOf(error, url)}`)
  }
  return {
    ...config,
    // Certificates are checked whatever the environment says, unless the URL says `no-verify`.
    ...(config.ssl ? { ssl: { rejectUnauthorized: true, ...(config.ssl === true ? {} : config.ssl) } } : {}),
    application_name: 'modelgate',
    // A commit is on the disk when it has been answered, whatever the server's default is.
    options: `${config.options ?? ''} -c synchronous_commit=on -c search_path="${schema}"`,
    connectionTimeoutMillis: 10_000,
    query_timeout: 30_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  }
}

async function checkSettings(client: PoolClient, url: QueueUrl): Promise<void> {
  const { rows } = await client.query<
    Record<'version' | 'fsync' | 'commit' | 'is_standby' | 'read_only', string>
  >(
    `SELECT current_setting('server_version_num') AS version, current_setting('fsync') AS fsync,
      current_setting('synchronous_commit') AS commit, pg_is_in_recovery()::text AS is_standby,
      current_setting('default_transaction_read_only') AS read_only`,
  )
  const { version, fsync, commit, is_standby, read_only } = rows[0]!
  const refuse = (problem: string, hint: string) => refuseServer(url, problem, hint)
  if (Number(version) < 130_000) refuse('its PostgreSQL is older than 13.', 'Use PostgreSQL 13 or newer.')
  if (is_standby === 'true')
    refuse('it is a standby, which cannot be written.', 'Give the address of the primary server.')
  if (read_only === 'on')
    refuse('it cannot be written.', 'Set default_transaction_read_only = off for its user.')
  if (fsync !== 'on') refuse(`fsync is off, ${loss}`, 'Set fsync = on in its configuration.')
  if (commit !== 'on' && commit !== 'remote_apply')
    refuse(`synchronous_commit is ${commit}, ${loss}`, 'Allow connections to set synchronous_commit = on.')
}
