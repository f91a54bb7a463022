import { expect, test } from 'vitest'
import { instanceOf, textField } from '../../../support/pipeline-task.ts'
import { runningSandbox } from '../../../support/running-sandbox.ts'
import { fastClock, workerBench } from './worker-bench.ts'

const many = (count: number, lane: 'text' | 'video') =>
  Array.from({ length: count }, (_, at) => {
    const fields = { prompt: textField(`Say ${at}`) }
    return lane === 'text'
      ? instanceOf({ id: `t${at}`, command: 'generate', fields, output: `${at}.txt` })
      : instanceOf({ id: `v${at}`, command: 'video generate', fields, output: `${at}.mp4` })
  })

/** When requests came to a gateway, in milliseconds, whoever sent them. */
async function watchedSandbox(options: Parameters<typeof runningSandbox>[0] = {}) {
  const times: number[] = []
  const sandbox = await runningSandbox({ ...options, onRequest: () => void times.push(performance.now()) })
  return { ...sandbox, times }
}

/** The most requests in any time of that length. */
function most(times: readonly number[], perMs: number): number {
  return Math.max(...times.map((from) => times.filter((time) => time >= from && time < from + perMs).length))
}

test('two workers together keep to one rate, look-ups and downloads included', async () => {
  const bench = await workerBench()
  const { url, times, created } = await watchedSandbox({ clock: fastClock })
  await bench.submit([...many(12, 'text'), ...many(2, 'video')])
  const rate = { requests: 10, perMs: 500 }
  const workers = [bench.work(url, { rate }), bench.work(url, { rate })]
  await bench.final()
  for (const worker of workers) await worker.stop()
  expect(created()).toBe(14)
  // Each video takes a request to start it, at least one look-up, and one download.
  expect(times.length).toBeGreaterThanOrEqual(12 + 2 * 3)
  expect(most(times, rate.perMs)).toBeLessThanOrEqual(rate.requests)
})

test('when the gateway asks one worker to wait, none sends before that', async () => {
  const bench = await workerBench()
  const refusal = { endpoint: 'generate-content', times: 1, action: 'status', status: 429 } as const
  const answered: { readonly at: number; readonly status: number }[] = []
  const sandbox = await runningSandbox({
    faults: [{ ...refusal, headers: { 'retry-after': '1' } }],
    onRequest: () => {
      const status = sandbox.requests().at(-1)?.status ?? 0
      answered.push({ at: performance.now(), status })
    },
  })
  await bench.submit(many(30, 'text'))
  const options = { places: { text: 2, image: 1, video: 1 } }
  const workers = [bench.work(sandbox.url, options), bench.work(sandbox.url, options)]
  await bench.final()
  for (const worker of workers) await worker.stop()
  expect(sandbox.created()).toBe(30)
  expect(sandbox.requests()).toHaveLength(31)
  const refusedAt = answered.find(({ status }) => status === 429)!.at
  // What was under way when it asked.
  const early = answered.filter(({ at }) => at > refusedAt && at < refusedAt + 900)
  expect(early.length).toBeLessThanOrEqual(3)
})
