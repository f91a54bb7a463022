import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { done, queueScene, ref } from './queue-scene.ts'
import { runs } from '../../support/sample.ts'

const rate = { requests: 3, perMs: 1000 }

test('a request counts against the rate until a period after it was answered', async () => {
  const scene = await queueScene()
  await scene.submit({}, {}, {}, {}, {})
  const worker = scene.worker('a', { rate })
  for (const number of [1, 2, 3]) expect(await worker.begin(ref(number))).toMatchObject({ kind: 'send' })
  expect(await scene.worker('b', { rate }).begin(ref(4))).toEqual({ kind: 'wait', ms: 1250, isHeld: true })
  await scene.clock.advance(200)
  await worker.end(ref(2), done)
  expect(await worker.begin(ref(4))).toEqual({ kind: 'wait', ms: 1000, isHeld: true })
  await scene.clock.advance(1000)
  expect(await worker.begin(ref(4))).toMatchObject({ kind: 'send' })
  expect(await worker.begin(ref(5))).toMatchObject({ kind: 'wait' })
})

test('look-ups count, too', async () => {
  const scene = await queueScene()
  await scene.submit({})
  const worker = scene.worker('a', { rate: { requests: 1, perMs: 60_000 } })
  expect(await worker.beginLookUp('look-up 1')).toBe(0)
  expect(await worker.begin(ref(1))).toEqual({ kind: 'wait', ms: 60_250, isHeld: true })
  expect(await scene.worker('b').beginLookUp('look-up 2')).toBe(0)
})

test('no time of the period has more requests, however long each is on its way', async () => {
  const request = fc.record({
    wayMs: fc.integer({ min: 0, max: 250 }),
    replyMs: fc.integer({ min: 0, max: 3000 }),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: 5, maxLength: 40 }), async (requests) => {
      const scene = await queueScene()
      await scene.submit(...requests.map(() => ({})))
      const workers = [scene.worker('a', { rate }), scene.worker('b', { rate })]
      const arrived: number[] = []
      const ends: { readonly at: number; readonly number: number }[] = []
      let next = 0
      for (let guard = 0; arrived.length < requests.length && guard < 10_000; guard++) {
        const now = scene.clock.now()
        for (const { number } of ends.filter(({ at }) => at <= now)) await workers[0]!.end(ref(number), done)
        ends.splice(0, ends.length, ...ends.filter(({ at }) => at > now))
        const begun = await workers[next % 2]!.begin(ref(next + 1))
        if (begun.kind === 'send') {
          const { wayMs, replyMs } = requests[next++]!
          arrived.push(now + wayMs)
          ends.push({ at: now + wayMs + replyMs, number: next })
        } else await scene.clock.advance(50)
      }
      expect(arrived).toHaveLength(requests.length)
      const sorted = arrived.toSorted((one, other) => one - other)
      for (const [at, first] of sorted.entries()) {
        expect((sorted[at + rate.requests] ?? Infinity) - first).toBeGreaterThanOrEqual(rate.perMs)
      }
    }),
    runs(50),
  )
})
