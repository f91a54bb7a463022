import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/context.ts'
import { ModelgateError } from '../../../src/errors.ts'
import type { DocumentStore } from '../../../src/pipeline/queue/document-store.ts'
import { openDocuments } from '../../../src/pipeline/queue/open-documents.ts'
import { readQueueUrl } from '../../../src/pipeline/queue/queue-url.ts'
import { memoryDocuments } from '../../support/memory-documents.ts'
import { queueServers, type QueueServer } from '../../support/queue-servers.ts'
import { until } from '../../support/until.ts'
import { runs } from '../../support/sample.ts'

const backends = [
  { name: 'memory', needs: 'nothing', isThere: true, start: undefined },
  ...queueServers,
] as const

type Numbers = Readonly<Record<string, number>>

describe.each(backends)('$name (needs $needs)', ({ isThere, start }) => {
  describe.skipIf(!isThere)('documents', () => {
    let server: QueueServer | undefined
    let spaces = 0
    let memory: DocumentStore | undefined

    beforeAll(async () => {
      server = await start?.()
    })
    afterAll(() => server?.remove())

    /** Of one store with no other's documents, so many clients. */
    const openClients = async (
      count: number,
      space = `test_${++spaces}`,
    ): Promise<readonly DocumentStore[]> => {
      if (server === undefined) {
        memory = memoryDocuments({ clock: systemClock })
        return Array.from({ length: count }, () => memory!)
      }
      const url = readQueueUrl(server.url)
      const clients = await Promise.all(
        Array.from({ length: count }, () => openDocuments(url, space, systemClock)),
      )
      onTestFinished(async () => void (await Promise.all(clients.map((client) => client.close()))))
      return clients
    }
    const openOne = async (space?: string) => (await openClients(1, space))[0]!

    const add = (store: DocumentStore, name: string, id: string) =>
      store.transact([name], (documents) => {
        const now = (documents.get(name) ?? {}) as Numbers
        return { documents: new Map([[name, { ...now, [id]: (now[id] ?? 0) + 1 }]]), result: undefined }
      })

    test('a document is what was written last, and absent when removed', async () => {
      const store = await openOne()
      const text = 'a\u0000b\ud800 \u{1f600} \\ \' " $$ {x}\n'
      await store.transact(['a', 'b'], () => ({
        documents: new Map([
          ['a', { text, n: 1.5, list: [null, true] }],
          ['b', {}],
        ]),
        result: undefined,
      }))
      expect(await store.read(['a', 'b', 'c', 'a'])).toEqual(
        new Map([
          ['a', { text, n: 1.5, list: [null, true] }],
          ['b', {}],
        ]),
      )
      await store.transact(['a', 'c'], (documents) => ({
        documents: new Map([
          ['a', null],
          ['c', { was: documents.has('a') }],
        ]),
        result: undefined,
      }))
      expect(await store.read(['a', 'b', 'c'])).toEqual(
        new Map([
          ['b', {}],
          ['c', { was: true }],
        ]),
      )
    })

    test('what a change throws is thrown, and nothing is written', async () => {
      const store = await openOne()
      const failed = store.transact(['a'], () => {
        throw new Error('no budget')
      })
      await expect(failed).rejects.toThrow('no budget')
      expect(await store.read(['a'])).toEqual(new Map())
    })

    test('a document that was not read cannot be written', async () => {
      const store = await openOne()
      const failed = store.transact(['a'], () => ({ documents: new Map([['b', {}]]), result: undefined }))
      await expect(failed).rejects.toThrow('b is written, and was not read.')
    })

    test('whatever many clients move between documents, the sum stays', async () => {
      const names = ['a', 'b', 'c', 'd']
      const move = fc.record({
        client: fc.nat(3),
        from: fc.constantFrom(...names),
        to: fc.constantFrom(...names),
        amount: fc.nat(9),
      })
      const property = fc.asyncProperty(fc.array(move, { maxLength: 30 }), async (moves) => {
        const space = `sum_${++spaces}`
        const clients = await openClients(4, space)
        const [first] = clients
        await Promise.all(
          moves.map(({ client, from, to, amount }) =>
            clients[client]!.transact([from, to], (documents) => {
              const balance = new Map(
                names.map((name) => [name, (documents.get(name)?.['n'] ?? 0) as number]),
              )
              balance.set(from, balance.get(from)! - amount)
              balance.set(to, balance.get(to)! + amount)
              // An empty account is none.
              const writes = [from, to].map(
                (name) => [name, balance.get(name) === 0 ? null : { n: balance.get(name)! }] as const,
              )
              return { documents: new Map(writes), result: undefined }
            }),
          ),
        )
        const balances = [...(await first!.read(names)).values()].map((document) => document['n'] as number)
        const expected = names.map((name) =>
          moves.reduce(
            (sum, { from, to, amount }) => sum + (to === name ? amount : 0) - (from === name ? amount : 0),
            0,
          ),
        )
        expect(balances.reduce((sum, n) => sum + n, 0)).toBe(0)
        expect(await first!.read(names)).toEqual(
          new Map(
            names.flatMap((name, index) => (expected[index] === 0 ? [] : [[name, { n: expected[index]! }]])),
          ),
        )
      })
      await fc.assert(property, runs(server === undefined ? 50 : 8))
    })

    test('of many who find a document absent, one makes it', async () => {
      const clients = await openClients(8)
      const made = await Promise.all(
        clients.map((client, index) =>
          client.transact(['lock'], (documents) =>
            documents.has('lock')
              ? { documents: new Map(), result: false }
              : { documents: new Map([['lock', { index }]]), result: true },
          ),
        ),
      )
      expect(made.filter(Boolean)).toHaveLength(1)
      const document = await clients[0]!.read(['lock'])
      expect(made[document.get('lock')!['index'] as number]).toBe(true)
    })

    test('what was found absent and left so counts as read: of two who each make one, one sees the other', async () => {
      const [left, right] = (await openClients(2)) as [DocumentStore, DocumentStore]
      const make = (store: DocumentStore, own: string, other: string) =>
        store.transact([own, other], (documents) =>
          documents.has(other)
            ? { documents: new Map(), result: 0 }
            : { documents: new Map([[own, {}]]), result: 1 },
        )
      for (let round = 0; round < 10; round++) {
        const names = [`a${round}`, `b${round}`] as const
        const made = await Promise.all([make(left, ...names), make(right, names[1], names[0])])
        expect(made[0]! + made[1]!).toBe(1)
      }
    })

    test('messages come to all watchers, after a first gap, until they stop', async () => {
      const [one, other] = (await openClients(2)) as [DocumentStore, DocumentStore]
      const seen: string[] = []
      const told: string[] = []
      const stop = await one.watch(
        (message) => seen.push(message),
        () => seen.push('(gap)'),
      )
      const stopToo = await other.watch(
        (message) => told.push(message),
        () => told.push('(gap)'),
      )
      await other.notify('hello')
      await one.transact([], () => ({ documents: new Map(), messages: ['a "b" \u00e9'], result: undefined }))
      await until(() => seen.length === 3 && told.length === 3)
      expect(new Set(seen)).toEqual(new Set(['(gap)', 'hello', 'a "b" \u00e9']))
      await stop()
      await other.notify('later')
      await until(() => told.includes('later'))
      expect(seen).not.toContain('later')
      await stopToo()
    })

    describe.skipIf(start === undefined)('on a server', () => {
      test('all who start at once have one identity, which a restart keeps and the loss of the data does not', async () => {
        const clients = await openClients(8, 'identity')
        const [identity, ...others] = new Set(clients.map((client) => client.identity))
        expect(others).toEqual([])
        await server!.stop()
        await server!.start()
        expect((await openOne('identity')).identity).toBe(identity)
        await server!.wipe()
        expect((await openOne('identity')).identity).not.toBe(identity)
        // Whoever knows the old data must not go on with the new.
        await expect(add(clients[0]!, 'a', 'x')).rejects.toMatchObject({
          code: 'queue_lost',
          exit: 'notSent',
        })
        await expect(clients[0]!.read(['a'])).rejects.toMatchObject({ code: 'queue_lost' })
      })

      test('what was written is there after the server was killed at once', async () => {
        const store = await openOne()
        for (let round = 1; round <= 3; round++) {
          await add(store, 'a', 'n')
          await server!.kill()
          await server!.start()
          expect(await store.read(['a'])).toEqual(new Map([['a', { n: round }]]))
        }
      })

      test('while the server is killed again and again, whoever looks again loses and doubles nothing', async () => {
        const clients = await openClients(4)
        let done = 0
        const work = clients.map(async (client, index) => {
          for (let n = 0; n < 30; n++) {
            for (let isKnown = false; !isKnown;) {
              const id = `${index}-${n}`
              isKnown = await client
                .transact(['all'], (documents) => {
                  const now = (documents.get('all') ?? {}) as Numbers
                  if (id in now) return { documents: new Map(), result: true }
                  return {
                    documents: new Map([['all', { ...now, [id]: 1, count: (now['count'] ?? 0) + 1 }]]),
                    result: true,
                  }
                })
                .catch((error: unknown) => {
                  if (error instanceof ModelgateError && error.code === 'queue_unreachable') return false
                  throw error
                })
            }
            done++
          }
        })
        for (const mark of [20, 60]) {
          await until(() => done >= mark)
          await server!.kill()
          await server!.start()
        }
        await Promise.all(work)
        const all = (await clients[0]!.read(['all'])).get('all')!
        expect(all['count']).toBe(120)
        expect(Object.keys(all)).toHaveLength(121)
      })

      test('a watcher is told of the gap after a restart, and then of messages', async () => {
        const [one, other] = (await openClients(2)) as [DocumentStore, DocumentStore]
        const seen: string[] = []
        const stop = await one.watch(
          (message) => seen.push(message),
          () => seen.push('(gap)'),
        )
        await server!.stop()
        await server!.start()
        await until(() => seen.length === 2)
        await other.notify('back')
        await until(() => seen.length === 3)
        expect(seen).toEqual(['(gap)', '(gap)', 'back'])
        await stop()
      })

      test('a message of any length comes, or is a gap', async () => {
        const store = await openOne()
        const seen: string[] = []
        const stop = await store.watch(
          (message) => seen.push(message),
          () => seen.push('(gap)'),
        )
        await store.notify('x'.repeat(100_000))
        await until(() => seen.length === 2)
        expect(['(gap)', 'x'.repeat(100_000)]).toContain(seen[1])
        await stop()
      })

      test('a server that is away is named without its password', async () => {
        const { port } = new URL(server!.url)
        await server!.stop()
        const url = readQueueUrl(`${new URL(server!.url).protocol}//me:p%40ss-word@127.0.0.1:${port}`)
        const error = await openDocuments(url, 'test', systemClock).catch((error: unknown) => error)
        await server!.start()
        expect(error).toBeInstanceOf(ModelgateError)
        const { exit, code, message, facts } = error as ModelgateError
        expect({ exit, code, cause: facts.cause }).toEqual({
          exit: 'notSent',
          code: 'queue_unreachable',
          cause: undefined,
        })
        expect(message).toBe(
          `The queue at ${url.shown} cannot be reached: connect ECONNREFUSED 127.0.0.1:${port}.`,
        )
        expect(message).not.toMatch(/p%40ss-word|p@ss-word|\bme\b/)
      })
    })
  })
})
