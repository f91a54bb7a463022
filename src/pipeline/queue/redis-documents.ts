import { parseDocument } from './document-shapes.ts'
import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import type { Clock } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import type { JsonObject } from '../../json.ts'
import { ServerLost, type DocumentServer, type Snapshot } from './document-server.ts'
import { expiryMs, type DocumentStore } from './document-store.ts'
import { createTransactions } from './document-transactions.ts'
import { queueLost, reasonOf, type QueueUrl } from './queue-url.ts'
import {
  connected,
  createRedisClient,
  lostCommand,
  openingError,
  redisOptions,
  type RedisClient,
} from './redis-connection.ts'
import { checkDurability, type Durability } from './redis-durability.ts'
import { createSubscription, type MessageConnection } from './subscription.ts'

/** The number of what the keys hold; an identity begins with it. */
const layout = '1'

/** How long a write may take until it is on the disk, milliseconds. */
const syncMs = 20_000

/** KEYS: the identity, then the documents. A value is its version, a line break, and JSON. */
const readScript = `
local time = redis.call('TIME')
local values = {}
for i = 2, #KEYS do values[i - 1] = redis.call('GET', KEYS[i]) end
return { redis.call('GET', KEYS[1]), time[1], time[2], values }`

/**
 * Writes documents if all that were read have the versions that were read.
 *
 * KEYS: the identity, the last version, then the documents. ARGV: what is to be done, as JSON, with documents as their
 * places among KEYS; then the new values. Returns 0 when written, 1 after a conflict (nothing is written), 2 where the
 * identity is another one.
 */
const writeScript = `
local plan = cjson.decode(ARGV[1])
if redis.call('GET', KEYS[1]) ~= plan.identity then return 2 end
for i, version in ipairs(plan.versions) do
  local key = KEYS[i + 2]
  if version == '' then
    if redis.call('EXISTS', key) == 1 then return 1 end
  elseif redis.call('GETRANGE', key, 0, #version) ~= version .. '\\n' then
    return 1
  end
end
local stamp = string.format('%.0f', redis.call('INCR', KEYS[2]))
for i, write in ipairs(plan.writes) do
  local value = stamp .. '\\n' .. ARGV[i + 1]
  if write.lifetime == '' then
    redis.call('SET', KEYS[write.place + 2], value)
  else
    redis.call('SET', KEYS[write.place + 2], value, 'PX', write.lifetime)
  end
end
for i, place in ipairs(plan.removed) do redis.call('DEL', KEYS[place + 2]) end
return 0`

/**
 * Documents as keys of a Redis or Valkey server, of one hash slot.
 * @param namespace what all keys begin with, in braces
 * @throws UsageError the server may lose what it has answered, cannot be written, or the user may not use it
 * @throws ModelgateError `queue_unreachable`
 */
export async function openRedisDocuments(
  url: QueueUrl,
  namespace: string,
  clock: Clock,
): Promise<DocumentStore> {
  const writer = createRedisClient(url)
  try {
    const client = await writer.ready()
    const durability = await checkDurability(client, url)
    const identity = await identityOf(client, `{${namespace}}:identity`, url)
    if (!durability.isAtOnce) await probe(client, `{${namespace}}:probe`, url)
    return createStore({ writer, url, namespace, identity, durability, clock })
  } catch (error) {
    writer.close()
    throw openingError(error, url)
  }
}

/** The identity that the store has, or gets now. */
async function identityOf(client: Redis, key: string, url: QueueUrl): Promise<string> {
  await client.set(key, `${layout} ${randomUUID()}`, 'NX')
  const [found, id] = ((await client.get(key)) ?? '').split(' ')
  if (found === layout && id !== undefined) return id
  throw new UsageError(`The queue at ${url.shown} was set up by another version of modelgate.`, {
    code: 'queue_version',
    hint: 'Use the same version everywhere.',
  })
}

/** Whether it can say that a write is on its disk: servers that only look like Redis may not. */
async function probe(client: Redis, key: string, url: QueueUrl): Promise<void> {
  await client.set(key, '1')
  const isSynced = await synced(client).catch(() => false)
  if (isSynced) return
  throw new UsageError(
    `The queue at ${url.shown} cannot be used: WAITAOF does not report that a write is on its disk.`,
    {
      code: 'queue_unsafe',
      hint: 'Set appendonly yes and appendfsync always in its configuration, and allow WAITAOF to its user.',
    },
  )
}

/** Whether all that this connection has written is on the disk of the server. */
async function synced(client: Redis): Promise<boolean> {
  const [local] = (await client.call('WAITAOF', 1, 0, syncMs)) as number[]
  return local === 1
}

interface Opened {
  readonly writer: RedisClient
  readonly url: QueueUrl
  readonly namespace: string
  readonly identity: string
  readonly durability: Durability
  readonly clock: Clock
}

function createStore(opened: Opened): DocumentStore {
  const { writer, url, namespace, identity, clock } = opened
  // A connection that waits for the disk answers nothing else meanwhile.
  const reader = createRedisClient(url)
  const channel = `{${namespace}}:messages`
  const tell = async (messages: readonly string[]) => {
    try {
      const client = await reader.ready()
      await Promise.all(messages.map((message) => client.publish(channel, message)))
    } catch {
      // Best effort: a watcher looks for itself now and then.
    }
  }
  const transactions = createTransactions(createServer(opened, reader, tell), url, clock)
  const subscription = createSubscription(clock, (onMessage, onLost) =>
    subscribe(url, channel, onMessage, onLost),
  )
  return {
    identity,
    read: transactions.read,
    transact: transactions.transact,
    notify: (message) => tell([message]),
    watch: (onMessage, onGap) => subscription.watch({ onMessage, onGap }),
    async close() {
      transactions.close()
      await subscription.close()
      reader.close()
      writer.close()
    },
  }
}

type ReadReply = [identity: string | null, seconds: string, microseconds: string, values: (string | null)[]]

function createServer(
  { writer, url, namespace, identity, durability }: Opened,
  reader: RedisClient,
  tell: (messages: readonly string[]) => Promise<void>,
): DocumentServer {
  const keysOf = (names: readonly string[]) => names.map((name) => `{${namespace}}:d:${name}`)
  const identityKey = `{${namespace}}:identity`
  const fullIdentity = `${layout} ${identity}`

  return {
    async snapshot(names) {
      const client = await reader.ready()
      const keys = [identityKey, ...keysOf(names)]
      const reply = await client.eval(readScript, keys.length, ...keys).catch((error: unknown) => {
        throw lostCommand(error, url, { isChange: false })
      })
      const [found, seconds, microseconds, values] = reply as ReadReply
      if (found !== fullIdentity) throw queueLost(url)
      return snapshotOf(names, Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000), values)
    },
    async write({ names, versions }, { documents, expiring, messages }) {
      const places = new Map(names.map((name, index) => [name, index + 1]))
      const written = [...documents].filter(([, document]) => document !== null)
      const plan = {
        identity: fullIdentity,
        versions: names.map((name) => versions.get(name) ?? ''),
        writes: written.map(([name]) => ({
          place: places.get(name),
          lifetime: expiring.has(name) ? String(expiryMs) : '',
        })),
        removed: [...documents].flatMap(([name, document]) => (document === null ? [places.get(name)] : [])),
      }
      const keys = [identityKey, `{${namespace}}:version`, ...keysOf(names)]
      const values = written.map(([, document]) => JSON.stringify(document))
      const client = await writer.ready()
      const outcome = await evaluate(client, keys, [JSON.stringify(plan), ...values])
      if (outcome === 2) throw queueLost(url)
      if (outcome === 0 && messages.length > 0) void tell(messages)
      return outcome === 0
    },
  }

  /** Both commands go at once, over one connection. */
  async function evaluate(
    client: Redis,
    keys: readonly string[],
    values: readonly string[],
  ): Promise<unknown> {
    const [written, isOnDisk] = await Promise.allSettled([
      client.eval(writeScript, keys.length, ...keys, ...values),
      durability.isAtOnce ? true : synced(client),
    ])
    if (written.status === 'rejected') throw lostCommand(written.reason, url, { isChange: true })
    if (written.value !== 0) return written.value
    if (isOnDisk.status === 'rejected')
      throw new ServerLost(reasonOf(isOnDisk.reason, url), { isCertain: false })
    if (!isOnDisk.value) throw new ServerLost('it does not write to its disk.', { isCertain: false })
    return 0
  }
}

function snapshotOf(names: readonly string[], now: number, values: ReadReply[3]): Snapshot {
  const documents = new Map<string, JsonObject>()
  const versions = new Map<string, string>()
  for (const [index, name] of names.entries()) {
    const value = values[index]
    if (value === null || value === undefined) continue
    const end = value.indexOf('\n')
    versions.set(name, value.slice(0, end))
    documents.set(name, parseDocument(name, value.slice(end + 1)))
  }
  return { names, documents, versions, now }
}

/** A connection of its own that hears the channel. */
async function subscribe(
  url: QueueUrl,
  channel: string,
  onMessage: (message: string) => void,
  onLost: () => void,
): Promise<MessageConnection> {
  const client = new Redis(redisOptions(url))
  await connected(client, url)
  let isOver = false
  client.on('end', () => {
    if (!isOver) onLost()
    isOver = true
  })
  client.on('message', (_, message) => onMessage(message))
  try {
    await client.subscribe(channel)
  } catch (error) {
    isOver = true
    client.disconnect()
    throw error
  }
  return {
    async close() {
      isOver = true
      client.disconnect()
    },
  }
}
