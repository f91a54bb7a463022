import { parseDocument } from './document-shapes.ts'
import { Client, type Pool, type PoolClient, type PoolConfig } from 'pg'
import type { Clock } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import type { JsonObject } from '../../json.ts'
import { ServerLost, type Changes, type DocumentServer, type Snapshot } from './document-server.ts'
import { expiryMs, type DocumentStore } from './document-store.ts'
import { createTransactions } from './document-transactions.ts'
import {
  openingError,
  postgresConfig,
  postgresPool,
  query,
  serverError,
  transaction,
} from './postgres-connection.ts'
import {
  cleaningStatement,
  layout,
  layoutStatements,
  readStatement,
  settingsStatement,
  storeStatement,
  writeStatement,
} from './postgres-layout.ts'
import { queueLost, reasonOf, type QueueUrl } from './queue-url.ts'
import { createSubscription, type MessageConnection } from './subscription.ts'

/** How often one process looks for expired documents, milliseconds. */
const cleaningMs = 600_000
/** A message that is longer is told as a gap: the server takes no more than 7,999 bytes. */
const maxMessageBytes = 7_900

/**
 * Documents in a schema of a PostgreSQL database, which is made at the first use.
 * @param namespace the schema, as an identifier in lower case
 * @throws UsageError the server may lose what it has answered, cannot be written, or the user may not use it
 * @throws ModelgateError `queue_unreachable`
 */
export async function openPostgresDocuments(
  url: QueueUrl,
  namespace: string,
  clock: Clock,
): Promise<DocumentStore> {
  const config = postgresConfig(url)
  const pool = postgresPool(config, 3)
  try {
    const identity = await prepare(pool, url, namespace)
    return createStore({ pool, config, url, namespace, identity, clock })
  } catch (error) {
    await pool.end()
    throw openingError(error, url)
  }
}

async function prepare(pool: Pool, url: QueueUrl, namespace: string): Promise<string> {
  const client = await pool.connect()
  try {
    const { rows } = await client.query<Settings>(settingsStatement)
    checkSettings(rows[0]!, url)
    const found = await storeRow(client, namespace)
    if (found !== undefined) return checkLayout(found, url)
    await client.query('BEGIN')
    for (const statement of layoutStatements(namespace)) await client.query(statement)
    await client.query('COMMIT')
    return checkLayout((await storeRow(client, namespace))!, url)
  } finally {
    client.release(true)
  }
}

interface StoreRow {
  readonly identity: string
  readonly layout: number
}

async function storeRow(client: PoolClient, namespace: string): Promise<StoreRow | undefined> {
  try {
    return (await client.query<StoreRow>(storeStatement(namespace))).rows[0]
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** No such schema, no such table, no such function. */
function isMissing(error: unknown): boolean {
  return ['3F000', '42P01', '42883'].includes(serverError(error)?.code ?? '')
}

function checkLayout({ identity, layout: found }: StoreRow, url: QueueUrl): string {
  if (found === layout) return identity
  throw new UsageError(`The queue at ${url.shown} was set up by another version of modelgate.`, {
    code: 'queue_version',
    hint: 'Use the same version everywhere.',
  })
}

interface Settings {
  readonly version: number
  readonly fsync: string
  readonly synchronousCommit: string
  readonly isStandby: boolean
  readonly readOnly: string
}

function checkSettings(
  { version, fsync, synchronousCommit, isStandby, readOnly }: Settings,
  url: QueueUrl,
): void {
  const refuse = (problem: string, hint: string) => {
    throw new UsageError(`The queue at ${url.shown} cannot be used: ${problem}`, {
      code: 'queue_unsafe',
      hint,
    })
  }
  if (version < 130_000) refuse('its PostgreSQL is older than 13.', 'Use PostgreSQL 13 or newer.')
  if (isStandby)
    refuse('it is a standby, which cannot be written.', 'Give the address of the primary server.')
  if (readOnly === 'on')
    refuse('it cannot be written.', 'Set default_transaction_read_only = off for its user.')
  if (fsync !== 'on') {
    refuse(
      'fsync is off, so that a crash may lose what has been sent and paid for.',
      'Set fsync = on in its configuration.',
    )
  }
  if (synchronousCommit !== 'on' && synchronousCommit !== 'remote_apply') {
    refuse(
      `synchronous_commit is ${synchronousCommit}, so that a crash may lose what has been sent and paid for.`,
      'Allow connections to set synchronous_commit = on.',
    )
  }
}

interface Opened {
  readonly pool: Pool
  readonly config: PoolConfig
  readonly url: QueueUrl
  readonly namespace: string
  readonly identity: string
  readonly clock: Clock
}

function createStore(opened: Opened): DocumentStore {
  const { pool, config, url, namespace, identity, clock } = opened
  const channel = `${namespace}_documents`
  const transactions = createTransactions(createServer(opened, channel), url, clock)
  const subscription = createSubscription(clock, (onMessage, onLost) =>
    listen(
      config,
      channel,
      (payload) => (payload === '' ? subscription.gap() : onMessage(payload.slice(1))),
      onLost,
    ),
  )
  return {
    identity,
    read: transactions.read,
    transact: transactions.transact,
    async notify(message) {
      const statement = { text: 'SELECT pg_notify($1, $2)', values: [channel, payloadOf(message)] }
      // Best effort: a watcher looks for itself now and then.
      await query(pool, url, statement, { isChange: false }).catch(() => {})
    },
    watch: (onMessage, onGap) => subscription.watch({ onMessage, onGap }),
    async close() {
      transactions.close()
      await subscription.close()
      await pool.end()
    },
  }
}

function payloadOf(message: string): string {
  return Buffer.byteLength(message) > maxMessageBytes ? '' : `m${message}`
}

interface ReadRow {
  readonly identity: string
  readonly now: string
  readonly name: string | null
  readonly version: string
  readonly value: string | null
}

interface WriteRow {
  readonly outcome: number
}

function createServer({ pool, url, namespace, identity, clock }: Opened, channel: string): DocumentServer {
  const readText = readStatement(namespace, { isLocked: false })
  const lockText = readStatement(namespace, { isLocked: true })
  const writeText = writeStatement(namespace)
  let nextCleaning = clock.monotonic() + clock.random() * cleaningMs

  const reading = (names: readonly string[]) => ({
    name: `${namespace}-read`,
    text: readText,
    values: [names],
  })
  const locking = (names: readonly string[]) => ({
    name: `${namespace}-lock`,
    text: lockText,
    values: [names],
  })
  const writing = (snapshot: Snapshot, changes: Changes) => {
    const values = [identity, ...writeValues(snapshot, changes), channel, changes.messages.map(payloadOf)]
    return { name: `${namespace}-write`, text: writeText, values }
  }
  const snapshotOf = (names: readonly string[], rows: readonly ReadRow[]) => {
    if (rows[0]?.identity !== identity) throw queueLost(url)
    return readRows(names, rows)
  }
  const isWritten = (row: WriteRow | undefined) => {
    if (row?.outcome === 2) throw queueLost(url)
    return row?.outcome === 0
  }

  const changing = async (work: () => Promise<boolean>): Promise<boolean> => {
    try {
      return await work()
    } catch (error) {
      // Two that cannot both go on: serialization_failure, deadlock_detected.
      if (['40001', '40P01'].includes(serverError(error)?.code ?? '')) return false
      throw answerError(error, url)
    }
  }

  const clean = async () => {
    if (clock.monotonic() < nextCleaning) return
    nextCleaning = clock.monotonic() + cleaningMs
    await query(pool, url, { text: cleaningStatement(namespace) }, { isChange: false }).catch(() => {})
  }

  return {
    async snapshot(names) {
      await clean()
      try {
        return snapshotOf(names, await query<ReadRow>(pool, url, reading(names), { isChange: false }))
      } catch (error) {
        throw answerError(error, url)
      }
    },
    write: (snapshot, changes) =>
      changing(async () => {
        const [row] = await query<WriteRow>(pool, url, writing(snapshot, changes), { isChange: true })
        return isWritten(row)
      }),
    alone: (names, change) =>
      changing(() =>
        transaction(pool, url, async (ask) => {
          const snapshot = snapshotOf(names, await ask<ReadRow>(locking(names)))
          const [row] = await ask<WriteRow>(writing(snapshot, change(snapshot)))
          return isWritten(row)
        }),
      ),
  }
}

function answerError(error: unknown, url: QueueUrl): unknown {
  if (isMissing(error)) return queueLost(url)
  return serverError(error) === undefined ? error : new ServerLost(reasonOf(error, url), { isCertain: true })
}

function readRows(names: readonly string[], rows: readonly ReadRow[]): Snapshot {
  const documents = new Map<string, JsonObject>()
  const versions = new Map<string, string>()
  for (const { name, version, value } of rows) {
    if (name === null) continue
    versions.set(name, version)
    if (value !== null) documents.set(name, parseDocument(name, value))
  }
  return { names, documents, versions, now: Number(rows[0]!.now) }
}

function writeValues(
  { names, versions, documents: present }: Snapshot,
  { documents, expiring }: Changes,
): readonly unknown[] {
  const written = [...documents].filter(([, document]) => document !== null)
  return [
    names,
    names.map((name) => versions.get(name) ?? null),
    written.map(([name]) => name),
    written.map(([, document]) => JSON.stringify(document)),
    written.map(([name]) => (expiring.has(name) ? expiryMs : null)),
    // Those that are not there and are not written either were only held.
    names.filter((name) => documents.get(name) === null || !(present.has(name) || documents.has(name))),
  ]
}

/** A connection of its own that hears the channel. */
async function listen(
  config: PoolConfig,
  channel: string,
  onPayload: (payload: string) => void,
  onLost: () => void,
): Promise<MessageConnection> {
  const client = new Client(config)
  let isOver = false
  const over = () => {
    if (isOver) return
    isOver = true
    onLost()
    void client.end().catch(() => {})
  }
  client.on('error', over)
  client.on('end', over)
  client.on('notification', ({ payload = '' }) => onPayload(payload))
  try {
    await client.connect()
    await client.query(`LISTEN "${channel}"`)
  } catch (error) {
    isOver = true
    void client.end().catch(() => {})
    throw error
  }
  return {
    async close() {
      isOver = true
      await client.end()
    },
  }
}
