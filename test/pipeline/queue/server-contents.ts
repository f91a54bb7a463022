import { Redis } from 'ioredis'
import { Client } from 'pg'
import { systemClock } from '../../../src/context.ts'
import type { JsonObject } from '../../../src/json.ts'
import { openSender } from '../../../src/pipeline/queue/bullmq-delivery.ts'
import { readQueueUrl } from '../../../src/pipeline/queue/queue-url.ts'
import type { QueueServer } from '../../support/queue-servers.ts'

export interface ServerContents {
  /** The documents, by name. */
  readonly documents: ReadonlyMap<string, JsonObject>
  /** How many deliveries there are. */
  readonly left: number
  /** All that the server holds, as text. */
  readonly text: string
}

/** Everything that is on the server of a queue. */
export async function contentsOf({ url }: Pick<QueueServer, 'url'>): Promise<ServerContents> {
  const place = readQueueUrl(url)
  const sender = await openSender(place, 'modelgate', systemClock)
  const left = await sender.left()
  await sender.close()
  const found = await (place.kind === 'redis' ? redisContents(url) : postgresContents(url))
  return { ...found, left }
}

async function postgresContents(url: string) {
  const client = new Client(url)
  await client.connect()
  try {
    const rows = async (text: string) => (await client.query(text)).rows as Record<string, string>[]
    const tables = await rows(
      `SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) AS name FROM pg_tables WHERE schemaname LIKE 'modelgate%'`,
    )
    const texts: string[] = []
    for (const { name } of tables) {
      texts.push(...(await rows(`SELECT t::text AS text FROM ${name} AS t`)).map(({ text }) => text!))
    }
    const documents = await rows(`SELECT name, value FROM modelgate.documents WHERE value <> ''`)
    return {
      documents: new Map(documents.map(({ name, value }) => [name!, parsed(value!)])),
      text: texts.join('\n'),
    }
  } finally {
    await client.end()
  }
}

async function redisContents(url: string) {
  const client = new Redis(url)
  const documents = new Map<string, JsonObject>()
  const texts: string[] = []
  try {
    for (const key of await client.keys('*')) {
      const [, name] = /^\{modelgate\}:d:(.*)$/s.exec(key) ?? []
      if (name === undefined) {
        texts.push(`${key} ${(await client.dumpBuffer(key))?.toString('latin1')}`)
        continue
      }
      const value = await client.get(key)
      // Removed meanwhile.
      if (value === null) continue
      texts.push(`${key} ${value}`)
      documents.set(name, parsed(value.slice(value.indexOf('\n') + 1)))
    }
    return { documents, text: texts.join('\n') }
  } finally {
    client.disconnect()
  }
}

const parsed = (text: string) => JSON.parse(text) as JsonObject
