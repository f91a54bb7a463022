import { readFileSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { ModelgateError } from '../../../src/errors.ts'
import { executeTask } from '../../../src/pipeline/execute/execute-task.ts'
import type { Task } from '../../../src/pipeline/execute/task.ts'
import type { UpstreamResult } from '../../../src/pipeline/manifest/request-body.ts'
import type { Instance } from '../../../src/pipeline/manifest/manifest.ts'
import type { FaultRule } from '../../../src/sandbox/start-sandbox.ts'
import { clip, film, finished, operation, started } from '../../program/videos/video-replies.ts'
import { localServer } from '../../support/local-server.ts'
import { end, head, readAll, write } from '../../support/server-replies.ts'
import { filesField, instanceOf, taskBench, textField, valueField } from '../../support/pipeline-task.ts'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { writeFiles } from '../../support/temporary-folder.ts'
import { testImages } from '../../support/test-images.ts'

const teaser = (overrides: Partial<Instance> = {}) =>
  instanceOf({
    command: 'video generate',
    ...overrides,
    fields: { prompt: textField('The harbour wakes up'), ...overrides.fields },
  })

async function runOn({
  instance = teaser(),
  faults = [] as FaultRule[],
  task: overrides = {} as Partial<Task> & { upstream?: ReadonlyMap<string, UpstreamResult> },
} = {}) {
  const sandbox = await runningSandbox({ faults })
  const bench = taskBench(sandbox.url)
  writeFiles(bench.folder, { 'first.png': (await testImages(64)).png })
  const task = bench.taskOf(instance, overrides)
  const outcome = await executeTask(bench.shared, task).catch((error: unknown) => error as ModelgateError)
  return { sandbox, ...bench, task, outcome }
}

test('a video from an image is a file with its facts, and its job is told before it is waited for', async () => {
  const seen: string[] = []
  const instance = teaser({ fields: { image: filesField('first.png'), duration_seconds: valueField(4) } })
  const { task, outcome, sandbox } = await runOn({
    instance,
    task: {
      async onJob(id, kind) {
        await setImmediate()
        seen.push(`${kind} ${id.split('/').slice(0, -1).join('/')}`)
      },
      onProgress: (state) => void seen.push(state),
    },
  })
  const content = readFileSync(join(task.folder, '1.mp4'))
  expect(outcome).toMatchObject({
    result: {
      outputs: [
        { path: '1.mp4', bytes: content.length, media_type: 'video/mp4', seconds: 4, credentials: false },
      ],
      model: 'sandbox-video',
      job_id: expect.stringContaining('operations/'),
      took_s: expect.any(Number),
    },
  })
  expect(seen[0]).toBe('operation models/sandbox-video/operations')
  expect(seen.at(-1)).toBe('completed')
  expect(sandbox.created()).toBe(1)
})

test('a remix of a video without a job is told before anything is sent', async () => {
  const instance = instanceOf({
    id: 'night',
    command: 'video remix',
    model: 'video-model-remix',
    fields: { prompt: textField('Make it night'), source: filesField('@teaser') },
  })
  const upstream = new Map([['@teaser', { files: [], jobId: null }]])
  const { outcome, sandbox } = await runOn({ instance, task: { upstream } })
  expect(outcome).toMatchObject({
    exit: 'usage',
    message: 'The video that night starts from has no id at the gateway.',
  })
  expect(sandbox.requests()).toEqual([])
})

test('a job of an earlier attempt is waited for, and nothing is sent', async () => {
  const server = await localServer([finished(['/1.mp4']), film()])
  const bench = taskBench(server.url)
  const job = { id: operation, kind: 'operation' } as const
  const task = bench.taskOf(teaser(), { job })
  writeFiles(task.folder, { '1.mp4': 'half' })
  const { result } = await executeTask(bench.shared, task)
  expect(result).toMatchObject({ job_id: operation, outputs: [{ path: '1.mp4' }], took_s: null })
  expect(readFileSync(join(task.folder, '1.mp4')).equals(clip)).toBe(true)
  expect(server.requests.map(({ line }) => line.split(' ')[0])).toEqual(['GET', 'GET'])
  expect([bench.jobs, bench.created]).toEqual([[], []])
})

test('a job whose videos are there already is not asked for', async () => {
  const server = await localServer([finished(['/1.mp4']), film()])
  const bench = taskBench(server.url)
  const job = { id: operation, kind: 'operation' } as const
  const task = bench.taskOf(teaser(), { job })
  const done = await executeTask(bench.shared, task)
  expect(await executeTask(bench.shared, task)).toEqual(done)
  // Killed before it wrote the record; a remix of the video needs its job.
  rmSync(join(task.folder, 'result.json'))
  const { result } = await executeTask(bench.shared, task)
  expect(result).toMatchObject({ job_id: operation, outputs: done.result.outputs })
  expect(server.requests).toHaveLength(2)
})

test('a job whose reply was cut behind its id is gone on with', async () => {
  const cut = `{"name":"${operation}","metadata":{`
  const server = await localServer([
    [readAll, write(head(200, { 'content-type': 'application/json', 'content-length': '500' }) + cut), end],
    finished(['/1.mp4']),
    film(),
  ])
  const bench = taskBench(server.url)
  const { result } = await executeTask(bench.shared, bench.taskOf(teaser()))
  expect(result).toMatchObject({ job_id: operation, outputs: [{ path: '1.mp4' }] })
  expect(bench.jobs).toEqual([`operation ${operation}`])
})

test('fewer videos than asked are an error that keeps what came, also in a later process', async () => {
  const server = await localServer([finished(['/1.mp4']), film()])
  const bench = taskBench(server.url)
  const job = { id: operation, kind: 'operation' } as const
  const task = bench.taskOf(teaser({ count: 2 }), { job })
  await expect(executeTask(bench.shared, task)).rejects.toMatchObject({
    exit: 'partial',
    message: 'The gateway sent only 1 of 2 videos.',
    facts: { billed: 'yes', rescued: [join(task.folder, '1.mp4')] },
  })
})

test('a damaged video is an error, and kept under a name that is no result', async () => {
  const cut = film(clip.subarray(0, -100))
  // It is fetched again twice, in case that it was damaged on its way.
  const server = await localServer([started, finished(['/1.mp4']), cut, cut, cut])
  const bench = taskBench(server.url)
  const task = bench.taskOf(teaser())
  await expect(executeTask(bench.shared, task)).rejects.toMatchObject({
    exit: 'running',
    code: 'damaged_media',
    facts: { billed: 'yes', remoteId: operation },
  })
  expect(readdirSync(task.folder)).toEqual(['1.damaged.mp4'])
})
