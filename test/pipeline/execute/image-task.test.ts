import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ModelgateError } from '../../../src/errors.ts'
import { executeTask } from '../../../src/pipeline/execute/execute-task.ts'
import type { Instance } from '../../../src/pipeline/manifest/manifest.ts'
import { refuseChanged } from '../../../src/pipeline/manifest/request-body.ts'
import { nameWarnings } from '../../../src/pipeline/run/make.ts'
import { images, red, blue } from '../../program/images/replies.ts'
import { localServer } from '../../support/local-server.ts'
import { filesField, instanceOf, taskBench, textField, valueField } from '../../support/pipeline-task.ts'
import { runningSandbox } from '../../support/running-sandbox.ts'
import type { ServerReply } from '../../support/server-replies.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { maskPng, testImages } from '../../support/test-images.ts'
import { sampleBlock } from '../lock/sample-block.ts'
import { digestOf } from '../store/store-samples.ts'

const hero = (overrides: Partial<Instance> = {}) =>
  instanceOf({
    command: 'image create',
    model: 'image-model-a',
    ...overrides,
    fields: { prompt: textField('A harbour'), size: valueField('1024x1024'), ...overrides.fields },
  })

async function runOn(url: string, instance: Instance) {
  const bench = taskBench(url)
  const task = bench.taskOf(instance)
  const outcome = await executeTask(bench.shared, task).catch((error: unknown) => error as ModelgateError)
  return { ...bench, task, outcome }
}

/** Runs an instance on a server with this reply. */
async function answered(reply: ServerReply, instance: Instance) {
  return runOn((await localServer([reply])).url, instance)
}

test('an image is a file with its facts', async () => {
  const sandbox = await runningSandbox()
  const { task, outcome } = await runOn(sandbox.url, hero({ fields: { output_format: valueField('webp') } }))
  const content = readFileSync(join(task.folder, '1.webp'))
  expect(outcome).toEqual({
    result: {
      outputs: [
        {
          path: '1.webp',
          sha256: digestOf(content),
          bytes: content.length,
          media_type: 'image/webp',
          width: 1024,
          height: 1024,
          seconds: null,
          credentials: false,
        },
      ],
      model: 'image-model-a',
      origin: new URL(sandbox.url).origin,
      request_id: expect.stringMatching(/./),
      job_id: null,
      usage: expect.objectContaining({ total_tokens: expect.any(Number) }),
      took_s: expect.any(Number),
    },
    cost: null,
    warnings: [],
  })
})

test('a mask that does not fit is told before anything is sent', async () => {
  const sandbox = await runningSandbox()
  const bench = taskBench(sandbox.url)
  writeFiles(bench.folder, { 'in.png': (await testImages(64)).png, 'mask.png': await maskPng(32) })
  const edit = instanceOf({
    command: 'image edit',
    model: 'image-model-a',
    fields: { prompt: textField('Wide'), image: filesField('in.png'), mask: filesField('mask.png') },
  })
  const error = await executeTask(bench.shared, bench.taskOf(edit)).catch((thrown: unknown) => thrown)
  expect(String(error)).toBe(
    'UsageError: mask "mask.png" is 32x32; the first image is 64x64, and both must be the same.',
  )
  expect(sandbox.requests()).toEqual([])
})

test('a file that has changed since its key was computed is refused', async () => {
  const folder = temporaryFolder()
  const { png } = await testImages(64)
  writeFiles(folder, { 'a.png': png, 'b.png': png })
  const before = new Map([
    ['a.png', digestOf(png)],
    ['b.png', digestOf(Buffer.from('before'))],
  ])
  const edit = instanceOf({
    command: 'image edit',
    model: 'image-model-a',
    fields: { prompt: textField('Wide'), image: filesField('a.png', 'b.png') },
  })
  const inputDigest = async (path: string) => before.get(path)!
  const error = await refuseChanged(edit, folder, inputDigest).catch((thrown: unknown) => thrown)
  expect(String(error)).toBe('UsageError: b.png has changed since the run began.')
  before.set('b.png', digestOf(png))
  await refuseChanged(edit, folder, inputDigest)
})

test('fewer images than asked are an error that keeps what came', async () => {
  const { outcome, task } = await answered(images(red), hero({ count: 2, fields: { n: valueField(2) } }))
  expect(outcome).toMatchObject({
    exit: 'partial',
    facts: {
      billed: 'yes',
      rescued: [join(task.folder, '1.png')],
      hint: `What has come is kept in "${task.folder}".`,
    },
  })
  expect(readFileSync(join(task.folder, '1.png')).equals(red)).toBe(true)
  expect(existsSync(join(task.folder, 'result.json'))).toBe(false)
})

test('of more images than asked the first are the result, and the others stay', async () => {
  const { outcome, task } = await answered(images(red, blue), hero())
  expect(outcome).toMatchObject({
    result: { outputs: [{ path: '1.png', sha256: digestOf(red) }] },
    warnings: ['2 images received, 1 requested.'],
  })
  expect(readdirSync(task.folder).toSorted()).toEqual(['1.png', '2.png', 'result.json'])
})

test('a damaged image is an error, and kept under a name that is no result', async () => {
  const { outcome, task } = await answered(images(red.subarray(0, 50)), hero())
  expect(outcome).toMatchObject({ exit: 'contract', code: 'damaged_media', facts: { billed: 'yes' } })
  expect(readdirSync(task.folder)).toEqual(['1.damaged.png'])
})

test.each([
  ['assets/hero.webp', ['assets/hero.webp is image/png, although its name says image/webp.']],
  ['assets/hero.{ext}', []],
  ['assets/hero.png', []],
])('a name that promises another format is a warning: %s', (output, warnings) => {
  const [facts] = sampleBlock.outputs
  expect(nameWarnings(hero({ output }), [{ ...facts!, media_type: 'image/png' }])).toEqual(warnings)
})
