import { hasBlob } from '../../store/has-blob.ts'
import { expect, test } from 'vitest'
import { runningSandbox } from '../../../support/running-sandbox.ts'
import { filesField, instanceOf, textField } from '../../../support/pipeline-task.ts'
import { pngBytes } from '../../../support/image-bytes.ts'
import { workerBench } from './worker-bench.ts'

const text = (prompt = 'Say hello', id = 'text') =>
  instanceOf({ id, command: 'generate', fields: { prompt: textField(prompt) }, output: 'out.txt' })
const image = (prompt = 'A cup', id = 'image') =>
  instanceOf({ id, command: 'image create', fields: { prompt: textField(prompt) }, output: 'out.png' })
const video = (prompt = 'A wave', id = 'video') =>
  instanceOf({ id, command: 'video generate', fields: { prompt: textField(prompt) }, output: 'out.mp4' })

test('a text, an image, an edit and a video are made, stored and written down', async () => {
  const bench = await workerBench()
  const { url, created } = await runningSandbox()
  bench.write('cup.png', pngBytes({ width: 64, height: 64 }))
  const edit = instanceOf({
    id: 'edit',
    command: 'image edit',
    fields: { prompt: textField('Make it red'), image: filesField('cup.png') },
    output: 'out.png',
  })
  const keys = await bench.submit([text(), image(), edit, video()])
  const worker = bench.work(url)
  await bench.final()
  await worker.stop()
  expect(worker.warnings()).toEqual([])
  for (const key of keys) {
    const { state, outcome } = bench.task(key)
    expect([state, outcome?.kind === 'error' ? outcome.error : null]).toEqual(['done', null])
    if (outcome?.kind !== 'result') throw new Error('no result')
    for (const { sha256 } of outcome.result.outputs) expect(await hasBlob(bench.store, sha256)).toBe(true)
  }
  expect(created()).toBe(4)
  expect(bench.record()).toMatchObject({ used: { creates: 4 }, inFlight: { text: 0, image: 0, video: 0 } })
  expect(bench.left()).toEqual([])
})
