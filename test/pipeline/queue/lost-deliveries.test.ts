import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Sender } from '../../../src/pipeline/queue/delivery.ts'
import { watchDeliveries } from '../../../src/pipeline/queue/lost-deliveries.ts'
import { done, keyOf, queueScene, ref } from './queue-scene.ts'

/** What is sent again after a minute, as `queue number`, while so many deliveries are left. */
async function sentAgain(left: number): Promise<string[]> {
  const scene = await queueScene()
  await scene.submit({}, { lane: 'image' }, { lane: 'video' }, {})
  const worker = scene.worker('a')
  await worker.begin(ref(2))
  await worker.begin(ref(3))
  await worker.started(ref(3), { id: 'video_1', kind: 'video' })
  await worker.begin(ref(4))
  await worker.end(ref(4), done)
  const sent: string[] = []
  const sender: Sender = {
    async send(queue, deliveries) {
      for (const { key, attempt } of deliveries) sent.push(`${queue} ${Number(key)} ${attempt}`)
    },
    left: async () => left,
    close: async () => {},
  }
  const keys = [1, 2, 3, 4].map(keyOf)
  const timer = watchDeliveries({ documents: scene.documents, sender }, scene.clock, () => keys)
  await scene.clock.advance(59_999)
  expect(sent).toEqual([])
  await scene.clock.advance(1)
  for (let turn = 0; turn < 10; turn++) await setImmediate()
  timer.cancel()
  await scene.clock.advance(120_000)
  expect(scene.clock.pendingTimers).toBe(0)
  return sent
}

test('tasks that have not ended are delivered again when the queue is empty', async () => {
  expect(await sentAgain(0)).toEqual(['text 1 attempt-1', 'image 2 attempt-2', 'poll 3 attempt-3'])
})

test('nothing is delivered again while the queue holds something', async () => {
  expect(await sentAgain(1)).toEqual([])
})
