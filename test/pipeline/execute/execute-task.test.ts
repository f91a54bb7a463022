import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { ModelgateError } from '../../../src/errors.ts'
import { executeTask } from '../../../src/pipeline/execute/execute-task.ts'
import type { ExecuteCall } from '../../../src/pipeline/execute/task.ts'
import type { Instance } from '../../../src/pipeline/manifest/manifest.ts'
import { refuseChanged } from '../../../src/pipeline/manifest/request-body.ts'
import { nameWarnings } from '../../../src/pipeline/run/make.ts'
import type { FaultRule } from '../../../src/sandbox/start-sandbox.ts'
import { images, red, blue } from '../../program/images/replies.ts'
import { clip, film, finished, operation, started } from '../../program/videos/video-replies.ts'
import { localServer } from '../../support/local-server.ts'
import {
  filesField,
  instanceOf,
  taskBench,
  textField,
  textOfField,
  valueField,
  type TaskChanges,
} from '../../support/pipeline-task.ts'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { end, head, json, readAll, write, type ServerReply } from '../../support/server-replies.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { maskPng, testImages } from '../../support/test-images.ts'
import { sampleBlock } from '../lock/sample-block.ts'
import { digestOf } from '../store/store-samples.ts'

type Files = Readonly<Record<string, string | Uint8Array>>

interface TaskOptions extends TaskChanges {
  /** Of the project, and of the task's own folder. */
  readonly files?: Files
  readonly left?: Files
  readonly prices?: ExecuteCall['prices']
}

async function runAt(url: string, instance: Instance, options: TaskOptions = {}) {
  const { files = {}, left = {}, prices = {}, ...overrides } = options
  const bench = taskBench(url, { prices })
  const task = bench.taskOf(instance, overrides)
  writeFiles(bench.folder, files)
  if (Object.keys(left).length > 0) writeFiles(task.folder, left)
  const outcome = await executeTask(bench.shared, task).catch((error: unknown) => error as ModelgateError)
  return {
    ...bench,
    task,
    outcome,
    path: (name: string) => join(task.folder, name),
    list: () => (existsSync(task.folder) ? readdirSync(task.folder).toSorted() : []),
  }
}

async function runOn(
  instance: Instance,
  { faults = [], ...options }: TaskOptions & { faults?: FaultRule[] } = {},
) {
  const sandbox = await runningSandbox({ faults })
  return { sandbox, ...(await runAt(sandbox.url, instance, options)) }
}

/** On a server with these replies. */
async function answered(replies: ServerReply[], instance: Instance, options?: TaskOptions) {
  const server = await localServer(replies)
  return { server, ...(await runAt(server.url, instance, options)) }
}

const prompt = textField('A harbour')
const { png } = await testImages(64)
const caption = instanceOf({ command: 'respond', fields: { input: textField('Name three rivers') } })
const hero = (fields: Instance['fields'] = {}, count = 1) =>
  instanceOf({ command: 'image create', model: 'image-model-a', count, fields: { prompt, ...fields } })
const edit = (fields: Instance['fields']) =>
  instanceOf({ command: 'image edit', model: 'image-model-a', fields: { prompt, ...fields } })
const masked = edit({ image: filesField('in.png'), mask: filesField('mask.png') })
const teaser = (fields: Instance['fields'] = {}, count = 1) =>
  instanceOf({ command: 'video generate', count, fields: { prompt, ...fields } })
const remix = (source: Instance['fields'][string]) =>
  instanceOf({ id: 'night', command: 'video remix', model: 'video-model-remix', fields: { prompt, source } })
/** Of an earlier attempt. */
const job = { id: operation, kind: 'operation' } as const

test.each([
  [
    'an answer',
    caption,
    { path: '1.txt', media_type: 'text/plain' },
    { model: 'sandbox-text', usage: expect.objectContaining({ output_tokens: expect.any(Number) }) },
  ],
  [
    'an image',
    hero({ size: valueField('1024x1024'), output_format: valueField('webp') }),
    { path: '1.webp', media_type: 'image/webp', width: 1024, height: 1024 },
    { model: 'image-model-a', usage: expect.objectContaining({ total_tokens: expect.any(Number) }) },
  ],
  [
    'a video of an image',
    teaser({ image: filesField('first.png'), duration_seconds: valueField(4) }),
    { path: '1.mp4', media_type: 'video/mp4', width: 1280, height: 720, seconds: 4 },
    { model: 'sandbox-video', job_id: expect.stringContaining('operations/'), request_id: null },
  ],
])('%s is a file with its facts', async (_, instance, facts, result) => {
  const { sandbox, outcome, path, created } = await runOn(instance, { files: { 'first.png': png } })
  const content = readFileSync(path(facts.path))
  const none = { width: null, height: null, seconds: null, credentials: false }
  expect(outcome).toEqual({
    result: {
      outputs: [{ ...none, ...facts, sha256: digestOf(content), bytes: content.length }],
      origin: new URL(sandbox.url).origin,
      request_id: expect.stringMatching(/./),
      job_id: null,
      usage: null,
      took_s: expect.any(Number),
      ...result,
    },
    cost: null,
    warnings: [],
  })
  expect(created).toEqual([1])
})

test('the pictures of an answer are files, and its text is kept in the record', async () => {
  const picture = instanceOf({
    command: 'generate',
    lane: 'image',
    model: 'gemini-3-pro-image',
    fields: { prompt: textField('A paper boat'), response_modalities: valueField(['TEXT', 'IMAGE']) },
  })
  const { outcome, path, list } = await runOn(picture)
  const text = expect.stringContaining('A paper boat')
  expect(outcome).toMatchObject({ result: { outputs: [{ path: '1.png', media_type: 'image/png' }] }, text })
  expect(list()).toEqual(['1.png', 'result.json'])
  expect(JSON.parse(readFileSync(path('result.json'), 'utf8'))).toMatchObject({ text })
})

test('a result costs what the prices of the user say, and nothing in the sandbox', async () => {
  const prices = { 'sandbox-text': { currency: 'EUR', input: 0, output: 1_000_000 } }
  const { outcome, shared, taskOf } = await runOn(caption, { prices })
  const usage = { output_tokens: expect.any(Number) }
  expect(outcome).toMatchObject({ result: { usage }, cost: { currency: 'EUR' } })
  const { result, cost } = outcome as Awaited<ReturnType<typeof executeTask>>
  expect(cost!.amount).toBe(BigInt(Number(result.usage!['output_tokens'])) * 10n ** 18n)
  const project = { ...shared.project, isSandbox: true }
  const free = await executeTask({ ...shared, project }, taskOf(caption))
  expect([free.cost, free.result.origin]).toEqual([null, null])
})

test('the limits of the user hold for each task', async () => {
  const sandbox = await runningSandbox()
  const { shared, taskOf } = taskBench(sandbox.url, { maxCreates: 1 })
  await executeTask(shared, taskOf(caption))
  const other = executeTask(shared, taskOf(caption, { idempotencyKey: 'other' }))
  await expect(other).rejects.toMatchObject({ exit: 'limit', facts: { billed: 'no' } })
  expect(sandbox.requests()).toHaveLength(1)
})

describe('a text', () => {
  const content = [{ type: 'output_text', text: 'One\r\ntwo\n' }]
  const message = { type: 'message', role: 'assistant', content }
  const reply = json({ id: 'r', object: 'response', status: 'completed', model: 'served', output: [message] })

  test('is of the model that was served, and its lines end with LF', async () => {
    const { outcome, path, server } = await answered([reply], caption)
    expect(outcome).toMatchObject({ result: { model: 'served' } })
    expect(readFileSync(path('1.txt'), 'utf8')).toBe('One\ntwo\n')
    expect(server.requests[0]!.headers['idempotency-key']).toBe('key-of-the-run')
  })

  test('of another job is the prompt, with LF and without its mark', async () => {
    const up = join(temporaryFolder(), 'up.txt')
    writeFiles(dirname(up), { 'up.txt': '\ufeffOne\r\ntwo' })
    const instance = instanceOf({ command: 'respond', model: null, fields: { input: textOfField('@up') } })
    const upstream = new Map([['@up', { files: [up], jobId: null }]])
    const { server } = await answered([reply], instance, { upstream })
    expect(JSON.parse(server.requests[0]!.body.toString())).toEqual({ stream: true, input: 'One\ntwo' })
  })

  test('that cannot be written is rescued', async () => {
    const sandbox = await runningSandbox()
    const { shared, taskOf, folder } = taskBench(sandbox.url)
    const task = taskOf(caption)
    // The folder goes while the answer is on its way.
    const gateway = { ...shared.gateway, onSend: () => rmSync(task.folder, { recursive: true }) }
    const error = await executeTask({ ...shared, gateway }, task).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ exit: 'io', facts: { billed: 'yes' } })
    const [path] = (error as ModelgateError).facts.rescued!
    expect(dirname(path!)).toBe(join(folder, 'rescued/run', task.key))
    expect(readFileSync(path!, 'utf8')).toMatch(/\w/)
  })
})

describe('the folder of a task', () => {
  test('is emptied: what an earlier attempt has left is moved aside', async () => {
    const left = { '1.txt': 'old', 'result.json': '{}', 'earlier-1/1.txt': 'older' }
    const { path } = await runOn(caption, { left })
    expect(readFileSync(path('earlier-2/1.txt'), 'utf8')).toBe('old')
    expect(readFileSync(path('earlier-1/1.txt'), 'utf8')).toBe('older')
    expect(readFileSync(path('1.txt'), 'utf8')).not.toBe('old')
  })

  test('is no link that would be followed', async () => {
    const sandbox = await runningSandbox()
    const { shared, taskOf, folder } = taskBench(sandbox.url)
    const task = taskOf(caption)
    writeFiles(folder, { 'elsewhere/file': 'x' })
    mkdirSync(dirname(task.folder), { recursive: true })
    symlinkSync(join(folder, 'elsewhere'), task.folder)
    await executeTask(shared, task)
    expect(readdirSync(join(folder, 'elsewhere'))).toEqual(['file'])
    expect(readdirSync(task.folder).toSorted()).toEqual(['1.txt', 'result.json'])
  })
})

test.each([
  [
    'a mask that does not fit',
    masked,
    'mask "mask.png" is 32x32; the first image is 64x64, and both must be the same.',
  ],
  [
    'a remix of a video without a job',
    remix(filesField('@teaser')),
    'The video that night starts from has no id at the gateway.',
  ],
])('%s is told before anything is sent', async (_, instance, message) => {
  const files = { 'in.png': png, 'mask.png': await maskPng(32) }
  const upstream = new Map([['@teaser', { files: [], jobId: null }]])
  const { outcome, sandbox } = await runOn(instance, { files, upstream })
  expect(outcome).toMatchObject({ exit: 'usage', message })
  expect(sandbox.requests()).toEqual([])
})

test('a file that has changed since its key was computed is refused', async () => {
  const folder = temporaryFolder()
  writeFiles(folder, { 'a.png': png, 'b.png': png })
  const instance = edit({ image: filesField('a.png', 'b.png') })
  const refusing = (second: string | Uint8Array) =>
    refuseChanged(instance, folder, async (path) => digestOf(path === 'b.png' ? second : png))
  await expect(refusing('before')).rejects.toThrow('b.png has changed since the run began.')
  await refusing(png)
})

describe('what is not all that was asked for', () => {
  const only = { message: 'The gateway sent only 1 of 2 videos.' }
  test.each([
    ['an image', [images(red)], hero({ n: valueField(2) }, 2), '1.png', red, {}],
    ['a video', [finished(['/1.mp4']), film()], teaser({}, 2), '1.mp4', clip, only],
  ])('is an error that keeps what came: %s too few', async (_, replies, instance, name, bytes, more) => {
    const earlier = instance.lane === 'video' ? { job } : {}
    const { outcome, task, path } = await answered(replies, instance, earlier)
    expect(outcome).toMatchObject({
      exit: 'partial',
      facts: { billed: 'yes', rescued: [path(name)], hint: `What has arrived is kept in "${task.folder}".` },
      ...more,
    })
    expect(readFileSync(path(name)).equals(bytes)).toBe(true)
    expect(existsSync(path('result.json'))).toBe(false)
  })

  // A video is fetched again twice, in case that it was damaged on its way.
  const cut = film(clip.subarray(0, -100))
  const cuts = [started, finished(['/1.mp4']), cut, cut, cut]
  test.each([
    ['png', [images(red.subarray(0, 50))], hero(), 'contract', {}],
    ['mp4', cuts, teaser(), 'running', { remoteId: operation }],
  ])(
    'is kept under a name that is no result: a damaged .%s',
    async (type, replies, instance, exit, facts) => {
      const { outcome, list } = await answered(replies, instance)
      expect(outcome).toMatchObject({ exit, code: 'damaged_media', facts: { billed: 'yes', ...facts } })
      expect(list()).toEqual([`1.damaged.${type}`])
    },
  )

  test('may be more: the first are the result, and the others stay', async () => {
    const { outcome, list } = await answered([images(red, blue)], hero())
    expect(outcome).toMatchObject({
      result: { outputs: [{ path: '1.png', sha256: digestOf(red) }] },
      warnings: ['2 images received, 1 requested.'],
    })
    expect(list()).toEqual(['1.png', '2.png', 'result.json'])
  })
})

test.each([
  ['assets/hero.webp', ['assets/hero.webp is image/png, although its name says image/webp.']],
  ['assets/hero.{ext}', []],
  ['assets/hero.png', []],
])('a name that promises another format is a warning: %s', (output, warnings) => {
  const [facts] = sampleBlock.outputs
  expect(nameWarnings({ ...hero(), output }, [{ ...facts!, media_type: 'image/png' }])).toEqual(warnings)
})

describe('the job of a video', () => {
  test('is told before it is waited for', async () => {
    const seen: string[] = []
    await runOn(teaser(), {
      async onJob(id, kind) {
        await setImmediate()
        seen.push(`${kind} ${id.split('/').slice(0, -1).join('/')}`)
      },
      onProgress: (state) => void seen.push(state),
    })
    expect([seen[0], seen.at(-1)]).toEqual(['operation models/sandbox-video/operations', 'completed'])
  })

  test('of an earlier attempt is waited for, and nothing is sent', async () => {
    const replies = [finished(['/1.mp4']), film()]
    const { outcome, server, ...seen } = await answered(replies, teaser(), { job, left: { '1.mp4': 'half' } })
    const result = { job_id: operation, outputs: [{ path: '1.mp4' }], took_s: null }
    expect(outcome).toMatchObject({ result })
    expect(readFileSync(seen.path('1.mp4')).equals(clip)).toBe(true)
    expect(server.requests.map(({ line }) => line.split(' ')[0])).toEqual(['GET', 'GET'])
    expect([seen.jobs, seen.created]).toEqual([[], []])
  })

  test('whose videos are there already is not asked for', async () => {
    const replies = [finished(['/1.mp4']), film()]
    const { outcome, server, shared, task, path } = await answered(replies, teaser(), { job })
    expect(await executeTask(shared, task)).toEqual(outcome)
    // Killed before it wrote the record; a remix of the video needs its job.
    rmSync(path('result.json'))
    const { result } = await executeTask(shared, task)
    expect(result).toMatchObject({ job_id: operation, outputs: [{ path: '1.mp4', sha256: digestOf(clip) }] })
    expect(server.requests).toHaveLength(2)
  })

  test('whose reply was cut behind its id is gone on with', async () => {
    const headers = head(200, { 'content-type': 'application/json', 'content-length': '500' })
    const cut = [readAll, write(`${headers}{"name":"${operation}","metadata":{`), end]
    const { outcome, jobs } = await answered([cut, finished(['/1.mp4']), film()], teaser())
    expect(outcome).toMatchObject({ result: { job_id: operation, outputs: [{ path: '1.mp4' }] } })
    expect(jobs).toEqual([`operation ${operation}`])
  })
})

const commands: Readonly<Record<string, Instance>> = {
  respond: caption,
  generate: instanceOf({ command: 'generate', fields: { prompt } }),
  create: instanceOf({ command: 'image create', fields: { prompt } }),
  edit: masked,
  video: teaser(),
  remix: remix(valueField('video_sandbox_source')),
}
const all = Object.keys(commands)
const maybe = { exit: 'unknown', facts: { billed: 'maybe' } }
const busy: FaultRule = { action: 'status', status: 429, headers: { 'retry-after': '7' } }
const failed = { exit: 'failed' }
const tooLong = { ...failed, code: 'finish_length' }
const paid = { billed: 'yes' }

// A fault of the first request, or what the sandbox does for a model.
test.for<[what: string, of: readonly string[], failing: FaultRule | string, expected: object]>([
  ['a busy gateway', all, busy, { exit: 'later', facts: { httpStatus: 429, retryAfterS: 7, billed: 'no' } }],
  ['a failed server', all, { action: 'status', status: 500 }, maybe],
  ['a reset', all, { action: 'reset' }, maybe],
  ['a cut stream', ['respond', 'create'], { action: 'cut', at: 'mid-event' }, maybe],
  ['an error in the stream', ['respond'], { action: 'error-event' }, failed],
  ['an error under status 200', ['create', 'edit'], { action: 'error-200' }, failed],
  ['blocked content', all, 'sandbox-block', failed],
  ['too long an answer', ['respond', 'generate'], 'sandbox-length', { ...tooLong, facts: paid }],
  ['a failed job', ['video', 'remix'], 'sandbox-failure', { ...failed, code: 'generation_failed' }],
  ['a result that has expired', ['video'], 'sandbox-expired', { code: 'result_expired', facts: paid }],
])('%s is an error, sent once, and leaves no result', async ([, of, failing, expected]) => {
  const files = { 'in.png': png, 'mask.png': await maskPng(64) }
  for (const name of of) {
    // The source of a remix is looked at before.
    const where = name === 'remix' ? ({ endpoint: 'video-remix' } as const) : {}
    const faults = typeof failing === 'string' ? [] : [{ ...failing, ...where }]
    const instance = { ...commands[name]!, ...(typeof failing === 'string' && { model: failing }) }
    const { sandbox, outcome, list } = await runOn(instance, { faults, files })
    expect([name, outcome]).toMatchObject([name, expected])
    expect(outcome).toBeInstanceOf(Error)
    expect(sandbox.requests().filter(({ method }) => method === 'POST')).toHaveLength(1)
    expect(list().filter((file) => /^(?:1\.|result)/.test(file))).toEqual([])
  }
})
