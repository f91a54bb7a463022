import { Redis } from 'ioredis'
import { beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/context.ts'
import { ModelgateError } from '../../../src/errors.ts'
import { QueueServer } from '../../../src/pipeline/queue/queue-server.ts'
import { readQueueUrl } from '../../../src/pipeline/queue/queue-url.ts'
import { closedPort } from '../../support/local-server.ts'
import {
  forTest,
  hasPostgres,
  hasRedis,
  queueServers,
  startPostgres,
  startRedis,
} from '../../support/queue-servers.ts'
import { locks } from './queue-bench.ts'

const loss = 'so that a crash may lose what has been sent and paid for.'

const addressHint =
  'User, password and database are part of its URL. On PostgreSQL the user needs CREATE on the database at the first start.'

const gateway = new URL('http://gateway')
const open = (url: string) =>
  QueueServer.open(readQueueUrl(url), { isSandbox: false, gateway, clock: systemClock })

async function refusal(url: string) {
  const error: unknown = await open(url).then(
    (server) => server.close(),
    (error: unknown) => error,
  )
  if (!(error instanceof ModelgateError)) throw new Error('not refused', { cause: error })
  const { exitCode, code, message, facts } = error
  return { exitCode, code, message: message.replace(/:\d{4,5}/, ''), hint: facts.hint }
}

const queueRefused = { exitCode: 2, code: 'queue_refused' }
const refused = (message: string, hint = addressHint) => ({ ...queueRefused, message, hint })

describe.skipIf(!hasPostgres)('PostgreSQL (needs postgresql)', () => {
  const unusable = (problem: string, hint: string) =>
    refused(`The queue at postgres://127.0.0.1/postgres cannot be used: ${problem}`, hint)

  test('one that answers before what it has been told is on its disk is refused', async () => {
    const { url } = await forTest(startPostgres({ fsync: 'off' }))
    expect(await refusal(url)).toEqual(
      unusable(`fsync is off, ${loss}`, 'Set fsync = on in its configuration.'),
    )
  })

  test('one that does not wait for its disk by default does so here, one that cannot be written is refused', async () => {
    const { url } = await forTest(startPostgres({ synchronous_commit: 'off' }))
    const server = await open(url)
    expect(server.identity).toMatch(/^[0-9a-f]{32}$/)
    await server.close()
    expect(await refusal(`${url}?options=-c%20default_transaction_read_only%3Don`)).toEqual(
      unusable('it cannot be written.', 'Set default_transaction_read_only = off for its user.'),
    )
    // A user or a database that is not there.
    expect(await refusal(url.replace('postgres@', 'nobody:hidden@'))).toEqual(
      refused('The queue at postgres://127.0.0.1/postgres refuses: role "nobody" does not exist.'),
    )
    expect(await refusal(url.replace(/postgres$/, 'jobs'))).toEqual(
      refused('The queue at postgres://127.0.0.1/jobs refuses: database "jobs" does not exist.'),
    )
  })
})

describe.skipIf(!hasRedis)('Redis (needs redis-server)', () => {
  const unusable = (problem: string, hint: string) =>
    refused(`The queue at redis://127.0.0.1 cannot be used: ${problem}`, hint)

  const replica = 'it is a replica, which cannot be written.'
  test.each<[Readonly<Record<string, string>>, string, string]>([
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
    [{ replicaof: '127.0.0.1 1' }, replica, 'Give the address of the primary server.'],
    [
      { 'cluster-enabled': 'yes' },
      'it is a node of a cluster.',
      'Use a server of its own, without cluster mode.',
    ],
  ])('%j is refused', async (settings, problem, hint) => {
    const { url } = await forTest(startRedis(settings))
    expect(await refusal(url)).toEqual(unusable(problem, hint))
  })

  test('a wrong password, and a database that is not there', async () => {
    const { url } = await forTest(startRedis({ requirepass: 'right' }))
    for (const wrong of ['redis://:p%40ss-word@', 'redis://']) {
      const error = await refusal(url.replace('redis://', wrong))
      expect(error).toMatchObject(queueRefused)
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
    const client = new Redis(url)
    await client.call('ACL', 'SETUSER', 'limited', 'on', '>pass', '~*', '&*', '+@all', '-config')
    client.disconnect()
    expect(await refusal(url.replace('//', '//limited:pass@'))).toEqual(
      unusable('it does not report its settings.', 'Allow the commands INFO and CONFIG GET to its user.'),
    )
  })
})

describe.each(queueServers)('$name', ({ isThere, needs, start }) => {
  beforeEach(({ skip }) => skip(!isThere, `needs ${needs}`))

  test('all find one identity and one winner of an attempt, which a restart keeps', async () => {
    const server = await forTest(start())
    const { url } = server
    const all = await Promise.all([1, 2, 3, 4].map(() => open(url)))
    const [{ identity }] = all as [QueueServer]
    expect(all.map((one) => one.identity)).toEqual([identity, identity, identity, identity])
    for (let attempt = 0; attempt < 20; attempt++) {
      const winners = await Promise.all(all.map((one, at) => one.win(`a${attempt}`, `worker ${at}`)))
      expect(new Set(winners).size).toBe(1)
    }
    await Promise.all(all.map((one) => one.close()))
    await server.kill()
    await server.start()
    const again = await open(url)
    expect([again.identity, await again.win('a0', 'another')]).toEqual([
      identity,
      expect.stringMatching(/^worker/),
    ])
    await again.close()
    // As where the data are lost.
    const other = await open(url.startsWith('redis') ? `${url}/1` : url.replace(/postgres$/, 'template1'))
    expect(other.identity).not.toBe(identity)
    await other.close()
  })

  test('whoever has nothing in hand ends while the server is away', async () => {
    const server = await forTest(start())
    const queue = await open(server.url)
    const { promise: hasBegun, resolve: begin } = Promise.withResolvers<void>()
    let failures = 0
    const stop = queue.receive('text', {
      concurrency: 1,
      rate: null,
      locks,
      handle() {
        begin()
        return Promise.resolve({ kind: 'over' })
      },
      onError: () => void failures++,
    })
    await queue.lane('text').add('task', { message: '', state: '' })
    await hasBegun
    await expect.poll(() => queue.countOpen(['text'])).toBe(0)
    await server.kill()
    // Its connections are being made again.
    await expect.poll(() => failures).toBeGreaterThan(1)
    await stop()
    await queue.close()
  })
})

test.each(['redis', 'postgres'])(
  'a server on %s that is away is named without its password',
  async (kind) => {
    const error = await refusal(`${kind}://user:hidden@127.0.0.1:${await closedPort()}`)
    expect(error).toMatchObject({ exitCode: 6, code: 'queue_unreachable' })
    expect(error.message).not.toContain('hidden')
  },
)
