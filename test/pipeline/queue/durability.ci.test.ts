import { beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/context.ts'
import { ModelgateError } from '../../../src/errors.ts'
import { QueueServer } from '../../../src/pipeline/queue/queue-server.ts'
import { readQueueUrl } from '../../../src/pipeline/queue/queue-url.ts'
import {
  forTest,
  hasPostgres,
  hasRedis,
  queueServers,
  startPostgres,
  startRedis,
} from '../../support/queue-servers.ts'
import { redisProxy, type Answer } from '../../support/redis-proxy.ts'

const loss = 'so that a crash may lose what has been sent and paid for.'

const addressHint =
  'User, password and database are part of its URL. On PostgreSQL the user needs CREATE on the database at the first start.'

const gateway = new URL('http://gateway')
const open = (url: string) =>
  QueueServer.open(readQueueUrl(url), { isSandbox: false, gateway, clock: systemClock, connections: 2 })

async function refusal(
  url: string,
): Promise<Pick<ModelgateError, 'exitCode' | 'code' | 'message'> & { hint: unknown }> {
  const error: unknown = await open(url).then(
    (server) => server.close(),
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
    expect(await refusal(url)).toEqual({ exitCode: 2, code: 'queue_refused', message, hint })
  })

  test('a server that answers commits before they are on the disk does not do so here', async () => {
    const { url } = await forTest(startPostgres({ synchronous_commit: 'off' }))
    const server = await open(url)
    expect(server.identity).toMatch(/^[0-9a-f]{32}$/)
    await server.close()
    expect(await refusal(`${url}?options=-c%20default_transaction_read_only%3Don`)).toMatchObject({
      exitCode: 2,
    })
  })

  test('a user or a database that is not there is wrong usage', async () => {
    const { url } = await forTest(startPostgres())
    expect(await refusal(url.replace('postgres@', 'nobody:hidden@'))).toEqual({
      exitCode: 2,
      code: 'queue_refused',
      message: 'The queue at postgres://127.0.0.1/postgres refuses: role "nobody" does not exist.',
      hint: addressHint,
    })
    expect(await refusal(url.replace(/postgres$/, 'jobs'))).toEqual({
      exitCode: 2,
      code: 'queue_refused',
      message: 'The queue at postgres://127.0.0.1/jobs refuses: database "jobs" does not exist.',
      hint: addressHint,
    })
  })
})

describe.skipIf(!hasRedis)('Redis (needs redis-server)', () => {
  test.each([
    [{ appendonly: 'no' }, `appendonly is no, ${loss}`, 'Set appendonly yes in its configuration.'],
    [
      { appendfsync: 'everysec', 'maxmemory-policy': 'allkeys-lru' },
      `appendfsync is everysec and maxmemory-policy is allkeys-lru, ${loss}`,
      'Set appendfsync always and maxmemory-policy noeviction in its configuration.',
    ],
    [
      { 'no-appendfsync-on-rewrite': 'yes' },
      `no-appendfsync-on-rewrite is yes, ${loss}`,
      'Set no-appendfsync-on-rewrite no in its configuration.',
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
    expect(await refusal(url)).toEqual({ exitCode: 2, code: 'queue_refused', message, hint })
  })

  test('a wrong password, and a database that is not there', async () => {
    const { url } = await forTest(startRedis({ requirepass: 'right' }))
    for (const wrong of ['redis://:p%40ss-word@', 'redis://']) {
      const error = await refusal(url.replace('redis://', wrong))
      expect(error).toMatchObject({ exitCode: 2, code: 'queue_refused' })
      expect(error.message).toMatch(/^The queue at redis:\/\/127\.0\.0\.1 refuses: (?:WRONGPASS|NOAUTH) /)
      expect(error.message).not.toMatch(/p%40ss-word|p@ss-word/)
    }
    expect(await refusal(`${url.replace('redis://', 'redis://:right@')}/99`)).toMatchObject({
      exitCode: 2,
      message: 'The queue at redis://127.0.0.1/99 refuses: ERR DB index is out of range.',
    })
  })

  test('one that does not tell its settings is refused', async () => {
    const { url } = await forTest(startRedis())
    const forbidden: Answer = ([name]) => (/^config$/i.test(name!) ? '-NOPERM no permissions\r\n' : undefined)
    expect(await refusal(`redis://127.0.0.1:${await redisProxy(url, forbidden)}`)).toEqual({
      exitCode: 2,
      code: 'queue_refused',
      message: 'The queue at redis://127.0.0.1 cannot be used: it does not report its settings.',
      hint: 'Allow the commands INFO and CONFIG GET to its user.',
    })
  })
})

describe.each(queueServers)('$name', ({ isThere, needs, start }) => {
  beforeEach(({ skip }) => skip(!isThere, `needs ${needs}`))

  test('all who start at once find one identity, which a restart keeps and the loss of the data does not', async () => {
    const server = await forTest(start())
    const identities = async (count: number) => {
      const all = await Promise.all(Array.from({ length: count }, () => open(server.url)))
      await Promise.all(all.map((one) => one.close()))
      return [...new Set(all.map(({ identity }) => identity))]
    }
    const [first, ...others] = await identities(5)
    expect(others).toEqual([])
    await server.kill()
    await server.start()
    expect(await identities(1)).toEqual([first])
    await server.wipe()
    expect(await identities(1)).not.toEqual([first])
  })

  test('of many who want to win an attempt, one does, and all read who', async () => {
    const server = await forTest(start())
    const all = await Promise.all([1, 2, 3, 4].map(() => open(server.url)))
    for (let attempt = 0; attempt < 20; attempt++) {
      const winners = await Promise.all(all.map((one, at) => one.win(`a${attempt}`, `worker ${at}`)))
      expect(new Set(winners).size).toBe(1)
    }
    await Promise.all(all.map((one) => one.close()))
  })

  test('a server that is away is named without its password', async () => {
    const server = await forTest(start())
    const url = server.url.replace('//', '//user:hidden@').replace('postgres@', '')
    await server.stop()
    const error = await refusal(url)
    expect(error).toMatchObject({ exitCode: 6, code: 'queue_unreachable' })
    expect(error.message).not.toContain('hidden')
  })
})
