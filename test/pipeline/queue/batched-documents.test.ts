import { expect, test } from 'vitest'
import { batched } from '../../../src/pipeline/queue/batched-documents.ts'
import type { DocumentStore, Documents } from '../../../src/pipeline/queue/document-store.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { memoryDocuments, type MemoryDocuments } from '../../support/memory-documents.ts'

/** A store of which one can see how many documents each transaction has read. */
function watched(): {
  readonly memory: MemoryDocuments
  readonly store: DocumentStore
  readonly sizes: number[]
} {
  const memory = memoryDocuments({ clock: fakeClock() })
  const sizes: number[] = []
  const store: DocumentStore = {
    ...memory,
    transact(names, change) {
      sizes.push(names.length)
      return memory.transact(names, change)
    },
  }
  return { memory, store: batched(store), sizes }
}

const add = (name: string, by: number) => (found: Documents) => {
  const sum = Number(found.get(name)?.['sum'] ?? 0) + by
  return { documents: new Map([[name, { sum }]]), result: sum }
}

test('what is asked for during a transaction becomes one, each on what the ones before have left', async () => {
  const { store, sizes, memory } = watched()
  const results = await Promise.all([1, 2, 3, 4].map((by) => store.transact(['a'], add('a', by))))
  expect(results).toEqual([1, 3, 6, 10])
  expect(sizes).toEqual([1, 1])
  expect(memory.all.get('a')).toEqual({ sum: 10 })
})

test('a change that throws fails alone', async () => {
  const { store, memory } = watched()
  const fail = () => {
    throw new Error('no')
  }
  const results = await Promise.allSettled([
    store.transact(['a'], add('a', 1)),
    store.transact(['a'], add('a', 1)),
    store.transact(['a', 'b'], fail),
    store.transact(['b'], add('b', 5)),
  ])
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
  expect(memory.all.get('a')).toEqual({ sum: 2 })
  expect(memory.all.get('b')).toEqual({ sum: 5 })
})

test('a change sees only the documents that it has named', async () => {
  const { store } = watched()
  await store.transact(['a'], add('a', 1))
  const seen: string[][] = []
  const look = (found: Documents) => {
    seen.push([...found.keys()])
    return { documents: new Map(), result: null }
  }
  await Promise.all([store.transact(['a'], look), store.transact(['a'], look), store.transact(['b'], look)])
  expect(seen.at(-1)).toEqual([])
})

test('a document that is written again does not expire', async () => {
  const clock = fakeClock()
  const memory = memoryDocuments({ clock })
  const store = batched(memory)
  const expire = () => ({ documents: new Map([['a', { is: 'old' }]]), expiring: ['a'], result: null })
  const keep = () => ({ documents: new Map([['a', { is: 'new' }]]), result: null })
  await Promise.all([
    store.transact(['b'], add('b', 1)),
    store.transact(['a'], expire),
    store.transact(['a'], keep),
  ])
  await clock.advance(30 * 24 * 3600 * 1000)
  expect(memory.all.get('a')).toEqual({ is: 'new' })
})

test('a batch has a size', async () => {
  const { store, sizes } = watched()
  const all = Array.from({ length: 500 }, (_, at) => store.transact([`a${at}`], add(`a${at}`, 1)))
  await Promise.all(all)
  expect(sizes).toEqual([1, 200, 200, 99])
})

test('when the server is lost, all of a batch fail', async () => {
  const lost = batched(memoryDocuments({ clock: fakeClock(), fault: () => 'before' }))
  const results = await Promise.allSettled([1, 2, 3].map(() => lost.transact(['a'], add('a', 1))))
  expect(results.map((one) => one.status === 'rejected' && (one.reason as { code: string }).code)).toEqual(
    Array.from({ length: 3 }, () => 'queue_unreachable'),
  )
})
