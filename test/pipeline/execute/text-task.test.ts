import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import type { ModelgateError } from '../../../src/errors.ts'
import { executeTask } from '../../../src/pipeline/execute/execute-task.ts'
import type { Instance } from '../../../src/pipeline/manifest/manifest.ts'
import type { FaultRule } from '../../../src/sandbox/start-sandbox.ts'
import { localServer } from '../../support/local-server.ts'
import { instanceOf, taskBench, textField, textOfField, valueField } from '../../support/pipeline-task.ts'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { json } from '../../support/server-replies.ts'
import { writeFiles } from '../../support/temporary-folder.ts'

const caption = instanceOf({ command: 'respond', fields: { input: textField('Name three rivers') } })

/** Runs an instance on a sandbox with these faults. */
async function runOn(faults: readonly FaultRule[], instance: Instance = caption) {
  const sandbox = await runningSandbox({ faults })
  const bench = taskBench(sandbox.url)
  const task = bench.taskOf(instance)
  const outcome = await executeTask(bench.shared, task).catch((error: unknown) => error as ModelgateError)
  return { sandbox, ...bench, task, outcome }
}

/** A server that answers one request with a response of this text, and what was sent to it. */
async function sentBy(
  instance: Instance,
  files: Readonly<Record<string, string | Uint8Array>> = {},
  text = 'Fine.',
) {
  const message = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }
  const reply = { id: 'resp_1', object: 'response', status: 'completed', model: 'served', output: [message] }
  const server = await localServer([json(reply)])
  const bench = taskBench(server.url)
  writeFiles(bench.folder, files)
  const upstream = Object.keys(files).map((path) => join(bench.folder, path))
  const task = bench.taskOf(instance, { upstream: new Map([['@up', { files: upstream, jobId: null }]]) })
  const done = await executeTask(bench.shared, task)
  const { line, headers, body } = server.requests[0]!
  return { done, task, line, headers, body: JSON.parse(body.toString()) as Record<string, unknown> }
}

test('an answer is a file with its facts', async () => {
  const { sandbox, task, outcome, created } = await runOn([])
  const content = readFileSync(join(task.folder, '1.txt'))
  expect(outcome).toEqual({
    result: {
      outputs: [
        {
          path: '1.txt',
          sha256: createHash('sha256').update(content).digest('hex'),
          bytes: content.length,
          media_type: 'text/plain',
          width: null,
          height: null,
          seconds: null,
          credentials: false,
        },
      ],
      model: 'sandbox-text',
      origin: new URL(sandbox.url).origin,
      request_id: expect.stringMatching(/./),
      job_id: null,
      usage: expect.objectContaining({ output_tokens: expect.any(Number) }),
      took_s: expect.any(Number),
    },
    cost: null,
    warnings: [],
  })
  expect(created).toEqual([1])
})

test('the model is the one that was served, and lines end with LF', async () => {
  const { done, task, headers } = await sentBy(caption, {}, 'One\r\ntwo\n')
  expect(done.result.model).toBe('served')
  expect(readFileSync(join(task.folder, '1.txt'), 'utf8')).toBe('One\ntwo\n')
  expect(headers['idempotency-key']).toBe('key-of-the-run')
})

test('a text of another job is the prompt, with LF and without its mark', async () => {
  const instance = instanceOf({ command: 'respond', model: null, fields: { input: textOfField('@up') } })
  const { body } = await sentBy(instance, { 'up.txt': '\ufeffOne\r\ntwo' })
  expect(body).toEqual({ stream: true, input: 'One\ntwo' })
})

test('what an earlier attempt has left is moved aside', async () => {
  const sandbox = await runningSandbox()
  const { shared, taskOf } = taskBench(sandbox.url)
  const task = taskOf(caption)
  writeFiles(task.folder, { '1.txt': 'old', 'result.json': '{}', 'earlier-1/1.txt': 'older' })
  await executeTask(shared, task)
  expect(readFileSync(join(task.folder, 'earlier-2', '1.txt'), 'utf8')).toBe('old')
  expect(readFileSync(join(task.folder, 'earlier-1', '1.txt'), 'utf8')).toBe('older')
  expect(readFileSync(join(task.folder, '1.txt'), 'utf8')).not.toBe('old')
})

test('a link in place of its folder is not followed', async () => {
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

test('a result costs what the prices of the user say, and nothing in the sandbox', async () => {
  const sandbox = await runningSandbox()
  const prices = { 'sandbox-text': { currency: 'EUR', input: 0, output: 1_000_000 } }
  const { shared, taskOf } = taskBench(sandbox.url, { prices })
  const { cost, result } = await executeTask(shared, taskOf(caption))
  const tokens = BigInt(Number(result.usage!['output_tokens']))
  expect(cost).toEqual({ amount: tokens * 10n ** 18n, currency: 'EUR' })
  const project = { ...shared.project, isSandbox: true }
  const free = await executeTask({ ...shared, project }, taskOf(caption))
  expect([free.cost, free.result.origin]).toEqual([null, null])
})

test('the limits of the user hold for each task', async () => {
  const sandbox = await runningSandbox()
  const { shared, taskOf } = taskBench(sandbox.url, { maxCreates: 1 })
  await executeTask(shared, taskOf(caption))
  await expect(executeTask(shared, taskOf(caption, { idempotencyKey: 'other' }))).rejects.toMatchObject({
    exit: 'limit',
    facts: { billed: 'no' },
  })
  expect(sandbox.requests()).toHaveLength(1)
})

test('an answer that cannot be written is rescued', async () => {
  const sandbox = await runningSandbox()
  const { shared, taskOf, folder } = taskBench(sandbox.url)
  const task = taskOf(caption)
  // The folder goes while the answer is on its way.
  const stop = { ...shared.gateway, onSend: () => rmSync(task.folder, { recursive: true }) }
  const error = await executeTask({ ...shared, gateway: stop }, task).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ exit: 'io', facts: { billed: 'yes' } })
  const [path] = (error as ModelgateError).facts.rescued!
  expect(dirname(path!)).toBe(join(folder, 'rescued/run', task.key))
  expect(readFileSync(path!, 'utf8')).toMatch(/\w/)
})

const picture = instanceOf({
  command: 'generate',
  lane: 'image',
  model: 'gemini-3-pro-image',
  fields: {
    prompt: textField('A paper boat'),
    response_modalities: valueField(['TEXT', 'IMAGE']),
  },
})

test('the pictures of an answer are files, and its text is kept in the record', async () => {
  const { outcome, task } = await runOn([], picture)
  expect(outcome).toMatchObject({
    result: { outputs: [{ path: '1.png', media_type: 'image/png' }] },
    text: expect.stringContaining('A paper boat'),
  })
  const record = JSON.parse(readFileSync(join(task.folder, 'result.json'), 'utf8')) as { text: string }
  expect(readdirSync(task.folder).toSorted()).toEqual(['1.png', 'result.json'])
  expect(record.text).toContain('A paper boat')
})
