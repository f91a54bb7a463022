import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { executeTask } from '../../../src/pipeline/execute/execute-task.ts'
import { recoverResult, startedJobs } from '../../../src/pipeline/execute/task.ts'
import { instanceOf, taskBench, textField, valueField } from '../../support/pipeline-task.ts'
import { runningSandbox } from '../../support/running-sandbox.ts'

const answer = instanceOf({ command: 'respond', fields: { input: textField('Hello') } })
const pictures = instanceOf({
  command: 'image create',
  model: 'image-model-a',
  count: 2,
  fields: { prompt: textField('A harbour'), n: valueField(2) },
})
const film = instanceOf({ command: 'video generate', fields: { prompt: textField('A harbour') } })

async function finishedTask(instance: typeof answer) {
  const sandbox = await runningSandbox()
  const { shared, taskOf, context } = taskBench(sandbox.url)
  const task = taskOf(instance)
  const done = await executeTask(shared, task)
  const path = (name: string) => join(task.folder, name)
  return { task, done, context, path, recover: () => recoverResult(context, task) }
}

/** What a result without a record is known by: nothing of a text, which may be half of one. */
const fromFiles = (outputs: unknown) => {
  const unknown = { model: null, origin: null, request_id: null, job_id: null, usage: null, took_s: null }
  return { result: { outputs, ...unknown }, cost: null, warnings: [] }
}

test.for([
  ['a text', answer, false],
  ['images', pictures, true],
  ['a video', film, true],
] as const)('%s is recovered as it was, or with what its files tell', async ([, instance, isTold]) => {
  const { done, path, recover } = await finishedTask(instance)
  expect(await recover()).toEqual(done)
  rmSync(path('result.json'))
  expect(await recover()).toEqual(isTold ? fromFiles(done.result.outputs) : undefined)
})

test('a result of which a file is missing, or cut, is not recovered', async () => {
  for (const hasRecord of [true, false]) {
    const { path, recover } = await finishedTask(pictures)
    if (!hasRecord) rmSync(path('result.json'))
    writeFileSync(path('2.png'), readFileSync(path('2.png')).subarray(0, -20))
    expect(await recover()).toBeUndefined()
    rmSync(path('2.png'))
    expect(await recover()).toBeUndefined()
  }
})

test('a record that a power failure has torn counts as none', async () => {
  const { done, path, recover } = await finishedTask(pictures)
  const json = readFileSync(path('result.json'), 'utf8')
  for (const torn of ['', json.slice(0, 100), '[]', json.replace('"1.png"', '"../1.png"')]) {
    writeFileSync(path('result.json'), torn)
    expect(await recover()).toMatchObject({ result: { outputs: done.result.outputs, model: null } })
  }
})

test('the record of another request counts as none', async () => {
  const { task, context } = await finishedTask(answer)
  expect(await recoverResult(context, { ...task, key: 'o'.repeat(64) })).toBeUndefined()
})

test('a job that the journal could not note is found again, and gone on with', async () => {
  const sandbox = await runningSandbox()
  const { shared, taskOf, context, project } = taskBench(sandbox.url)
  const task = taskOf(film, { onJob: () => Promise.reject(new Error('the process is gone')) })
  await executeTask(shared, task).catch(() => {})
  const jobs = await startedJobs(context, project, shared.redactor)
  expect([...jobs.keys()]).toEqual(['key-of-the-run'])
  const done = await executeTask(shared, { ...task, job: jobs.get('key-of-the-run')!, onJob: async () => {} })
  expect(done.result).toMatchObject({ outputs: [{ path: '1.mp4' }] })
  expect(sandbox.created()).toBe(1)
})
