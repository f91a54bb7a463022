import { expect, test } from 'vitest'
import type { LanesDocument } from '../../../../src/pipeline/queue/queue-lanes.ts'
import { instanceOf, textField } from '../../../support/pipeline-task.ts'
import { runningSandbox } from '../../../support/running-sandbox.ts'
import { workerBench } from './worker-bench.ts'

const many = (count: number) =>
  Array.from({ length: count }, (_, at) => {
    const fields = { prompt: textField(`Say ${at}`) }
    return instanceOf({ id: `t${at}`, command: 'generate', fields, output: `${at}.txt` })
  })

test('when the gateway asks one worker to wait, none sends before that', async () => {
  const bench = await workerBench()
  const refusal = { endpoint: 'generate-content', times: 1, action: 'status', status: 429 } as const
  const sandbox = await runningSandbox({
    faults: [{ ...refusal, headers: { 'retry-after': '1' } }],
  })
  await bench.submit(many(30))
  const options = { places: { text: 2, image: 1, video: 1 } }
  const workers = [bench.work(sandbox.url, options), bench.work(sandbox.url, options)]
  await bench.final()
  for (const worker of workers) await worker.stop()
  expect(sandbox.created()).toBe(30)
  expect(sandbox.requests()).toHaveLength(31)
  const { cameAt: refusedAt } = sandbox.requests().find(({ status }) => status === 429)!
  // What was under way when it asked; a timer may be early by a part of a millisecond.
  const early = sandbox.requests().filter(({ cameAt }) => cameAt > refusedAt && cameAt < refusedAt + 999)
  expect(early.length).toBeLessThanOrEqual(3)
})

test.each([
  ['at once: it counts', 0, 1],
  ['late: another request may count on it, and it takes another', 1, 2],
  ['late each time: it is sent all the same', Infinity, 4],
])('a place in the rate that is given %s', async (_, lateOnes, places) => {
  const bench = await workerBench()
  const { url, created } = await runningSandbox()
  let lateMs = 0
  let given = 0
  const transact: typeof bench.documents.transact = async (names, work) => {
    const result = await bench.documents.transact(names, work)
    if (names.includes('lanes') && given++ < lateOnes) lateMs += 151
    return result
  }
  await bench.submit(many(1))
  const clock = { ...bench.clock, monotonic: () => lateMs }
  const rate = { requests: 100, perMs: 3_600_000 }
  const worker = bench.work(url, { rate }, { clock, documents: { ...bench.documents, transact } })
  await bench.final()
  await worker.stop()
  const lanes = bench.documents.all.get('lanes') as unknown as LanesDocument
  expect([created(), lanes.sent.length]).toEqual([1, places])
})
