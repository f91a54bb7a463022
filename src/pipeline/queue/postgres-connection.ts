import {
  DatabaseError,
  Pool,
  type PoolClient,
  type PoolConfig,
  type QueryConfig,
  type QueryResultRow,
} from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'
import { ModelgateError, UsageError } from '../../errors.ts'
import { ServerLost } from './document-server.ts'
import { reasonOf, unreachable, type QueueUrl } from './queue-url.ts'

/** How long a transaction may be left alone, milliseconds. */
const standstillMs = 5_000

/**
 * How to connect, for `pg` itself. Its variables (PGPASSWORD, PGSSLMODE, PGSSLROOTCERT) count where the URL says nothing.
 * @throws UsageError
 */
export function postgresConfig(url: QueueUrl): PoolConfig {
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
    options: [config.options, '-c synchronous_commit=on'].filter(Boolean).join(' '),
    connectionTimeoutMillis: 10_000,
    query_timeout: 30_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  }
}

/**
 * Connections that are made when they are needed, `max` at most. One that breaks is noticed by whoever uses it next; without
 * listeners, between two statements too, the process would end.
 */
export function postgresPool(config: PoolConfig, max: number): Pool {
  const pool = new Pool({ ...config, max })
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

/** What `pg` says that the server has answered; its connection goes on unless the severity is higher. */
export function serverError(error: unknown): DatabaseError | undefined {
  return error instanceof DatabaseError && error.severity === 'ERROR' ? error : undefined
}

/**
 * Runs a statement on a connection of the pool, which is given up if anything but an answer comes.
 * @param isChange whether it writes: if it is not answered, it may have been done
 * @throws DatabaseError what the server has answered; then nothing was written
 * @throws ServerLost
 */
export async function query<Row extends QueryResultRow>(
  pool: Pool,
  url: QueueUrl,
  statement: QueryConfig,
  { isChange }: { readonly isChange: boolean },
): Promise<readonly Row[]> {
  const client = await connected(pool, url)
  try {
    const { rows } = await client.query<Row>(statement)
    client.release()
    return rows
  } catch (error) {
    const answered = serverError(error)
    client.release(answered === undefined)
    if (answered !== undefined) throw answered
    throw new ServerLost(reasonOf(error, url), { isCertain: !isChange })
  }
}

type Ask = <Row extends QueryResultRow>(statement: QueryConfig) => Promise<readonly Row[]>

/**
 * Runs statements as one transaction, and ends it with what `work` says: true keeps it. A client that stands still
 * meanwhile is thrown out, so that others do not wait for it.
 * @throws DatabaseError what the server has answered; then nothing was written
 * @throws ServerLost
 */
export async function transaction(
  pool: Pool,
  url: QueueUrl,
  work: (ask: Ask) => Promise<boolean>,
): Promise<boolean> {
  const client = await connected(pool, url)
  const ask: Ask = async <Row extends QueryResultRow>(statement: QueryConfig) => {
    try {
      return (await client.query<Row>(statement)).rows
    } catch (error) {
      const isCertain = statement.text !== 'COMMIT'
      throw serverError(error) ?? new ServerLost(reasonOf(error, url), { isCertain })
    }
  }
  try {
    await ask({ text: `BEGIN; SET LOCAL idle_in_transaction_session_timeout = ${standstillMs}` })
    const isKept = await work(ask)
    await ask({ text: isKept ? 'COMMIT' : 'ROLLBACK' })
    client.release()
    return isKept
  } catch (error) {
    // The server rolls back what a connection leaves behind.
    client.release(true)
    throw error
  }
}

async function connected(pool: Pool, url: QueueUrl): Promise<PoolClient> {
  try {
    return await pool.connect()
  } catch (error) {
    throw new ServerLost(reasonOf(error, url), { isCertain: true })
  }
}

/** An error of the first connection: what only another address or another right can mend is wrong usage. */
export function openingError(error: unknown, url: QueueUrl): ModelgateError {
  if (error instanceof ModelgateError) return error
  const code = error instanceof DatabaseError ? (error.code ?? '') : ''
  if (code.startsWith('28')) {
    return new UsageError(`The queue at ${url.shown} refuses the user or the password.`, {
      code: 'queue_refused',
      hint: 'They are part of the URL, or in PGUSER and PGPASSWORD.',
    })
  }
  if (code === '3D000') {
    return new UsageError(`The queue at ${url.shown} has no such database.`, {
      code: 'queue_refused',
      hint: 'Create it, or correct the end of the URL.',
    })
  }
  if (code === '42501') {
    return new UsageError(`The queue at ${url.shown} cannot be set up: ${reasonOf(error, url)}`, {
      code: 'queue_refused',
      hint: 'Its user needs the right CREATE on the database at the first start: GRANT CREATE ON DATABASE … TO …',
    })
  }
  return unreachable(url, reasonOf(error, url))
}
