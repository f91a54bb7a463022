import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/context.ts'
import { openReceiver, openSender } from '../../../src/pipeline/queue/bullmq-delivery.ts'
import type { Delivery, Handled } from '../../../src/pipeline/queue/delivery.ts'
import { readQueueUrl } from '../../../src/pipeline/queue/queue-url.ts'
import { queueServers, type QueueServer } from '../../support/queue-servers.ts'
import { until } from '../../support/until.ts'

describe.each(queueServers)('$name (needs $needs)', ({ isThere, start }) => {
  describe.skipIf(!isThere)('deliveries', () => {
    let server: QueueServer
    let spaces = 0

    beforeAll(async () => {
      server = await start()
    })
    afterAll(() => server.remove())

    /** A queue of the test's own. */
    const open = async () => {
      const space = `test_${++spaces}`
      const url = readQueueUrl(server.url)
      const sender = await openSender(url, space, systemClock)
      onTestFinished(() => sender.close())
      const errors: unknown[] = []
      const receive = async (
        handle: (delivery: Delivery) => Promise<Handled>,
        { queue = 'image', concurrency = 4 }: { queue?: 'image' | 'poll'; concurrency?: number } = {},
      ) => {
        const receiver = await openReceiver(url, space, systemClock, queue, concurrency, handle, (error) =>
          errors.push(error),
        )
        onTestFinished(() => receiver.stop())
        return receiver
      }
      return { sender, receive, errors }
    }
    const task = (name: string, priority = 0) => ({
      key: `key-${name}`,
      attempt: `attempt-${name}`,
      priority,
    })

    test('each comes once, to one of the receivers, however often it is sent', async () => {
      const { sender, receive, errors } = await open()
      const names = Array.from({ length: 30 }, (_, index) => `t${index}`)
      await sender.send(
        'image',
        names.map((name) => task(name)),
      )
      await sender.send(
        'image',
        names.map((name) => task(name)),
      )
      const seen: Delivery[] = []
      const handle = async (delivery: Delivery): Promise<Handled> => {
        seen.push(delivery)
        return 'over'
      }
      await receive(handle)
      await receive(handle)
      await until(() => seen.length >= 30)
      // Behind all of them, where a second one would have come before.
      await sender.send('image', [task('last')])
      await until(() => seen.some(({ key }) => key === 'key-last'))
      expect(seen.map(({ key }) => key).sort()).toEqual(
        [...names, 'last'].map((name) => `key-${name}`).sort(),
      )
      expect(seen.find(({ key }) => key === 'key-t7')).toEqual({ key: 'key-t7', attempt: 'attempt-t7' })
      expect(errors).toEqual([])
    })

    test('one that is over can be sent again', async () => {
      const { sender, receive } = await open()
      let count = 0
      await receive(async () => {
        count++
        return 'over'
      })
      for (let round = 1; round <= 3; round++) {
        // It is over for its sender a moment after it is for the receiver.
        const again = async () => {
          await sender.send('image', [task('a')])
          if (count < round) await again()
        }
        await again()
      }
      expect(count).toBeGreaterThanOrEqual(3)
    })

    test('all that is left is counted: waiting, delayed and in progress', async () => {
      const { sender, receive } = await open()
      expect(await sender.left()).toBe(0)
      await sender.send('image', [task('a'), task('b', 5)])
      await sender.send('poll', [task('c')], 60_000)
      expect(await sender.left()).toBe(3)
      const finish = Promise.withResolvers<void>()
      let count = 0
      const receiver = await receive(async () => {
        count++
        await finish.promise
        return 'over'
      })
      await until(() => count === 2)
      expect(await sender.left()).toBe(3)
      finish.resolve()
      await receiver.stop()
      expect(await sender.left()).toBe(1)
    })

    test('the longest first', async () => {
      const { sender, receive } = await open()
      await sender.send('image', [
        task('short', 2),
        task('long', 900),
        task('none', 0),
        task('week', 604_800),
        task('mid', 60),
      ])
      const seen: string[] = []
      await receive(
        async ({ key }) => {
          seen.push(key)
          return 'over'
        },
        { concurrency: 1 },
      )
      await until(() => seen.length === 5)
      expect(seen).toEqual(['key-week', 'key-long', 'key-mid', 'key-short', 'key-none'])
    })

    test('one that is to come later comes later, and again as often as it is put off', async () => {
      const { sender, receive } = await open()
      const sent = performance.now()
      const at: number[] = []
      await sender.send('poll', [task('a')], 300)
      await receive(
        async () => {
          at.push(performance.now())
          return at.length < 3 ? { againInMs: 200 } : 'over'
        },
        { queue: 'poll' },
      )
      await until(() => at.length === 3)
      expect(at[0]! - sent).toBeGreaterThanOrEqual(295)
      expect(at[1]! - at[0]!).toBeGreaterThanOrEqual(195)
      expect(at[2]! - at[1]!).toBeGreaterThanOrEqual(195)
    })

    test('one receiver stops, and another of the same queue goes on', async () => {
      const { sender, receive } = await open()
      const seen: string[] = []
      const handle = async ({ key }: Delivery): Promise<Handled> => {
        seen.push(key)
        return 'over'
      }
      const [first] = [await receive(handle), await receive(handle), await receive(handle, { queue: 'poll' })]
      await first.stop()
      await sender.send('image', [task('a')])
      await sender.send('poll', [task('b')])
      await until(() => seen.length === 2)
      expect(seen.sort()).toEqual(['key-a', 'key-b'])
    })

    test('stopping waits for what is in progress, and takes nothing more', async () => {
      const { sender, receive } = await open()
      await sender.send('image', [task('a'), task('b')])
      const started = Promise.withResolvers<void>()
      const finish = Promise.withResolvers<void>()
      const seen: string[] = []
      const receiver = await receive(
        async ({ key }) => {
          seen.push(key)
          started.resolve()
          await finish.promise
          return 'over'
        },
        { concurrency: 1 },
      )
      await started.promise
      let isStopped = false
      const stopped = receiver.stop().then(() => (isStopped = true))
      expect(isStopped).toBe(false)
      finish.resolve()
      await stopped
      expect(seen).toHaveLength(1)
      const rest: string[] = []
      await receive(async ({ key }) => {
        rest.push(key)
        return 'over'
      })
      await until(() => rest.length === 1)
      expect([...seen, ...rest].sort()).toEqual(['key-a', 'key-b'])
    })

    test('both survive a restart of the server', async () => {
      const { sender, receive, errors } = await open()
      const seen = new Set<string>()
      await receive(async ({ key }) => {
        seen.add(key)
        return 'over'
      })
      await sender.send('image', [task('before')])
      await until(() => seen.has('key-before'))
      await server.stop()
      const sending = sender.send('image', [task('meanwhile')])
      await server.start()
      await sending
      await sender.send('image', [task('after')])
      await until(() => seen.has('key-meanwhile') && seen.has('key-after'))
      expect(errors.length).toBeLessThanOrEqual(2)
      for (const error of errors) expect(error).toMatchObject({ code: 'queue_unreachable', exit: 'notSent' })
    })

    // In the first moments of a worker, too.
    test('everything can be closed while the server is away', async () => {
      const closed: PromiseSettledResult<void>[] = []
      for (let round = 0; round < 4; round++) {
        const { sender, receive } = await open()
        const receiver = await receive(async () => 'over')
        await server.stop()
        closed.push(...(await Promise.allSettled([receiver.stop(), sender.close()])))
        await server.start()
      }
      expect(new Set(closed.map(({ status }) => status))).toEqual(new Set(['fulfilled']))
    })
  })
})
