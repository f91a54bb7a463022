import { Redis } from 'ioredis'
import { Client } from 'pg'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/context.ts'
import { ModelgateError } from '../../../src/errors.ts'
import { openDocuments } from '../../../src/pipeline/queue/open-documents.ts'
import { readQueueUrl } from '../../../src/pipeline/queue/queue-url.ts'
import { forTest, hasPostgres, hasRedis, startPostgres, startRedis } from '../../support/queue-servers.ts'
import { bulk, redisProxy, type Answer } from '../../support/redis-proxy.ts'

const loss = 'so that a crash may lose what has been sent and paid for.'

async function refusal(
  url: string,
): Promise<Pick<ModelgateError, 'exitCode' | 'code' | 'message'> & { hint: unknown }> {
  const error: unknown = await openDocuments(readQueueUrl(url), 'modelgate', systemClock).then(
    (store) => store.close(),
    (error: unknown) => error,
  )
  if (!(error instanceof ModelgateError)) throw new Error('not refused', { cause: error })
  const { exitCode, code, message, facts } = error
  return { exitCode, code, message: message.replace(/:\d{4,5}/, ''), hint: facts.hint }
}

describe.skipIf(!hasPostgres)('PostgreSQL (needs postgresql)', () => {
  test.each([
    [
      { fsync: 'off' },
      `The queue at postgres://127.0.0.1/postgres cannot be used: fsync is off, ${loss}`,
      'Set fsync = on in its configuration.',
    ],
    [
      { default_transaction_read_only: 'on' },
      'The queue at postgres://127.0.0.1/postgres cannot be used: it cannot be written.',
      'Set default_transaction_read_only = off for its user.',
    ],
  ])('%j is refused', async (settings, message, hint) => {
    const { url } = await forTest(startPostgres(settings))
    expect(await refusal(url)).toEqual({ exitCode: 2, code: 'queue_unsafe', message, hint })
  })

  test('a server that answers commits before they are on the disk does not do so here', async () => {
    const { url } = await forTest(startPostgres({ synchronous_commit: 'off' }))
    const store = await openDocuments(readQueueUrl(url), 'modelgate', systemClock)
    expect(store.identity).toMatch(/^[\da-f-]{36}$/)
    await store.close()
    expect(await refusal(`${url}?options=-c%20default_transaction_read_only%3Don`)).toMatchObject({
      exitCode: 2,
    })
  })

  test('what nobody needs any more is absent after a week, and stays when it is written again', async () => {
    const { url } = await forTest(startPostgres())
    const store = await openDocuments(readQueueUrl(url), 'modelgate', systemClock)
    const client = new Client(url)
    await client.connect()
    const minutesLeft = async () => {
      const { rows } = await client.query<{ minutes: string | null }>(
        'SELECT ceil(extract(epoch FROM expires_at - clock_timestamp()) / 60) AS minutes FROM modelgate.documents',
      )
      return rows[0]!.minutes
    }
    const write = (expiring: readonly string[]) =>
      store.transact(['a'], (documents) => ({
        documents: new Map([['a', {}]]),
        expiring,
        result: documents.has('a'),
      }))
    expect(await write(['a'])).toBe(false)
    expect(Number(await minutesLeft())).toBe(7 * 24 * 60)
    expect(await write([])).toBe(true)
    expect(await minutesLeft()).toBe(null)
    await client.query('UPDATE modelgate.documents SET expires_at = clock_timestamp()')
    expect(await store.read(['a'])).toEqual(new Map())
    expect(await write([])).toBe(false)
    expect(await store.read(['a'])).toEqual(new Map([['a', {}]]))
    await client.end()
    await store.close()
  })

  test('a user or a database that is not there is wrong usage', async () => {
    const { url } = await forTest(startPostgres())
    expect(await refusal(url.replace('postgres@', 'nobody:hidden@'))).toEqual({
      exitCode: 2,
      code: 'queue_refused',
      message: 'The queue at postgres://127.0.0.1/postgres refuses the user or the password.',
      hint: 'They are part of the URL, or in PGUSER and PGPASSWORD.',
    })
    expect(await refusal(url.replace(/postgres$/, 'jobs'))).toEqual({
      exitCode: 2,
      code: 'queue_refused',
      message: 'The queue at postgres://127.0.0.1/jobs has no such database.',
      hint: 'Create it, or correct the end of the URL.',
    })
  })
})

describe.skipIf(!hasRedis)('Redis (needs redis-server)', () => {
  const always =
    'Set appendfsync always and no-appendfsync-on-rewrite no in its configuration, or use Redis 7.2 or newer, or Valkey.'

  // Debian's is 7.0: older than WAITAOF.
  test.each([
    [
      { appendonly: 'no' },
      `appendonly is no, ${loss}`,
      'Set appendonly yes and appendfsync always in its configuration.',
    ],
    [{ appendfsync: 'no' }, `appendfsync is no, ${loss}`, 'Set appendfsync always in its configuration.'],
    [{ appendfsync: 'everysec' }, `appendfsync is everysec, ${loss}`, always],
    [{ 'no-appendfsync-on-rewrite': 'yes' }, `no-appendfsync-on-rewrite is yes, ${loss}`, always],
    [
      { 'maxmemory-policy': 'allkeys-lru' },
      'its maxmemory-policy is allkeys-lru, so that it may forget what has been sent and paid for.',
      'Set maxmemory-policy noeviction in its configuration.',
    ],
    [
      { 'maxmemory-policy': 'volatile-ttl' },
      'its maxmemory-policy is volatile-ttl, so that it may forget what has been sent and paid for.',
      'Set maxmemory-policy noeviction in its configuration.',
    ],
    [
      { replicaof: '127.0.0.1 1' },
      'it is a replica, which cannot be written.',
      'Give the address of the primary server.',
    ],
    [
      { 'cluster-enabled': 'yes' },
      'it is a node of a cluster.',
      'Use a server of its own, without cluster mode.',
    ],
  ])('%j is refused', async (settings, problem, hint) => {
    const { url } = await forTest(startRedis(settings as Readonly<Record<string, string>>))
    const message = `The queue at redis://127.0.0.1 cannot be used: ${problem}`
    expect(await refusal(url)).toEqual({ exitCode: 2, code: 'queue_unsafe', message, hint })
  })

  test('a wrong password, and a database that is not there', async () => {
    const { url } = await forTest(startRedis({ requirepass: 'right' }))
    for (const wrong of ['redis://:p%40ss-word@', 'redis://']) {
      const error = await refusal(url.replace('redis://', wrong))
      expect(error).toMatchObject({ exitCode: 2, code: 'queue_refused' })
      expect(error.message).toMatch(
        /^The queue at redis:\/\/127\.0\.0\.1 refuses the user or the password: (?:WRONGPASS|NOAUTH) /,
      )
      expect(error.message).not.toMatch(/p%40ss-word|p@ss-word/)
    }
    expect(await refusal(`${url.replace('redis://', 'redis://:right@')}/99`)).toMatchObject({
      exitCode: 2,
      message: 'The queue at redis://127.0.0.1/99 has no such database.',
    })
  })

  /** A server that seems to be newer. `synced` is what WAITAOF answers. */
  const newer =
    (synced: () => string): Answer =>
    ([name, what, setting]) => {
      if (/^info$/i.test(name!)) {
        return bulk(
          'redis_version:7.2.4\r\nredis_mode:standalone\r\nrole:master\r\naof_enabled:1\r\nmaxmemory_policy:noeviction\r\n',
        )
      }
      if (/^config$/i.test(name!) && what === 'GET' && setting === 'appendfsync') {
        return `*2\r\n${bulk('appendfsync')}${bulk('everysec')}`
      }
      return name === 'WAITAOF' ? synced() : undefined
    }

  test('a newer one need not be on the disk at once: each write waits until WAITAOF says so', async () => {
    const { url } = await forTest(startRedis())
    let reply = '*2\r\n:1\r\n:0\r\n'
    let asked = 0
    const port = await redisProxy(
      url,
      newer(() => (asked++, reply)),
    )
    const store = await openDocuments(readQueueUrl(`redis://127.0.0.1:${port}`), 'modelgate', systemClock)
    expect(asked).toBe(1)
    const write = () => store.transact(['a'], () => ({ documents: new Map([['a', {}]]), result: 'written' }))
    expect(await write()).toBe('written')
    expect(asked).toBe(2)
    reply = '*2\r\n:0\r\n:0\r\n'
    await expect(write()).rejects.toMatchObject({
      code: 'queue_unreachable',
      message: `The queue at redis://127.0.0.1:${port} cannot be reached: it does not write to its disk.`,
    })
    reply = '-ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.\r\n'
    await expect(write()).rejects.toMatchObject({ code: 'queue_unreachable' })
    await store.close()
  })

  test('one that only looks newer is refused', async () => {
    const { url } = await forTest(startRedis())
    const port = await redisProxy(
      url,
      newer(() => "-ERR unknown command 'WAITAOF'\r\n"),
    )
    expect(await refusal(`redis://127.0.0.1:${port}`)).toEqual({
      exitCode: 2,
      code: 'queue_unsafe',
      message:
        'The queue at redis://127.0.0.1 cannot be used: WAITAOF does not report that a write is on its disk.',
      hint: 'Set appendonly yes and appendfsync always in its configuration, and allow WAITAOF to its user.',
    })
  })

  test('a newer host that forbids CONFIG is asked by INFO and WAITAOF; an older one is refused', async () => {
    const { url } = await forTest(startRedis())
    const forbidden: Answer = ([name]) => (/^config$/i.test(name!) ? '-NOPERM no permissions\r\n' : undefined)
    const asNewer = newer(() => '*2\r\n:1\r\n:0\r\n')
    const port = await redisProxy(url, (command) => forbidden(command) ?? asNewer(command))
    const store = await openDocuments(readQueueUrl(`redis://127.0.0.1:${port}`), 'modelgate', systemClock)
    await store.close()
    expect(await refusal(`redis://127.0.0.1:${await redisProxy(url, forbidden)}`)).toEqual({
      exitCode: 2,
      code: 'queue_unsafe',
      message: 'The queue at redis://127.0.0.1 cannot be used: it does not report its appendfsync.',
      hint: 'Allow the commands INFO and CONFIG GET to its user.',
    })
  })

  test('what nobody needs any more goes after a week, and stays when it is written again', async () => {
    const { url } = await forTest(startRedis())
    const store = await openDocuments(readQueueUrl(url), 'modelgate', systemClock)
    const redis = new Redis(url)
    const write = (expiring: readonly string[]) =>
      store.transact(['a'], () => ({ documents: new Map([['a', {}]]), expiring, result: undefined }))
    await write(['a'])
    expect(Math.ceil((await redis.pttl('{modelgate}:d:a')) / 60_000)).toBe(7 * 24 * 60)
    await write([])
    expect(await redis.pttl('{modelgate}:d:a')).toBe(-1)
    redis.disconnect()
    await store.close()
  })
})
