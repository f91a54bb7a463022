import { expect, test } from 'vitest'
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
