import { Redis } from 'ioredis'
import { Client } from 'pg'
import type { QueueServer } from '../../support/queue-servers.ts'

export interface ServerContents {
  /** All that the server holds, as text. */
  readonly text: string
  /** The ids of tasks. */
  readonly tasks: readonly string[]
}

/** Everything that is on the server of a queue. */
export async function contentsOf({ url }: Pick<QueueServer, 'url'>): Promise<ServerContents> {
  const text = url.startsWith('redis') ? await redisContents(url) : await postgresContents(url)
  return { text, tasks: [...new Set(text.match(/\btask-[0-9a-f]{32}\b/g))] }
}

async function postgresContents(url: string): Promise<string> {
  const client = new Client(url)
  await client.connect()
  try {
    const rows = async (text: string) => (await client.query(text)).rows as Record<string, string>[]
    const tables = await rows(
      `SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) AS name FROM pg_tables
        WHERE schemaname LIKE 'modelgate%' AND tablename NOT LIKE '%event%'`,
    )
    const texts: string[] = []
    for (const { name } of tables) {
      texts.push(...(await rows(`SELECT t::text AS text FROM ${name} AS t`)).map(({ text }) => text!))
    }
    return texts.join('\n')
  } finally {
    await client.end()
  }
}

async function redisContents(url: string): Promise<string> {
  const client = new Redis(url)
  const texts: string[] = []
  try {
    for (const key of await client.keys('*')) {
      if (key.endsWith(':events')) continue
      texts.push(`${key} ${(await client.dumpBuffer(key))?.toString('latin1')}`)
    }
    return texts.join('\n')
  } finally {
    client.disconnect()
  }
}
