import { existsSync, readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { executeTask } from '../../../src/pipeline/execute/execute-task.ts'
import type { Instance } from '../../../src/pipeline/manifest/manifest.ts'
import type { FaultRule } from '../../../src/sandbox/start-sandbox.ts'
import { filesField, instanceOf, taskBench, textField, valueField } from '../../support/pipeline-task.ts'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { writeFiles } from '../../support/temporary-folder.ts'
import { maskPng, testImages } from '../../support/test-images.ts'

const prompt = textField('A harbour')
const edited = { image: filesField('in.png'), mask: filesField('mask.png') }
const commands: Readonly<Record<string, Instance>> = {
  respond: instanceOf({ command: 'respond', fields: { input: prompt } }),
  generate: instanceOf({ command: 'generate', fields: { prompt } }),
  create: instanceOf({ command: 'image create', fields: { prompt } }),
  edit: instanceOf({ command: 'image edit', fields: { prompt, ...edited } }),
  video: instanceOf({ command: 'video generate', fields: { prompt } }),
  remix: instanceOf({
    command: 'video remix',
    fields: { prompt, source: valueField('video_sandbox_source') },
  }),
}
const all = Object.keys(commands)

const maybe = { exit: 'unknown', facts: { billed: 'maybe' } }
const paid = { billed: 'yes' }

type Row = [what: string, of: readonly string[], failing: FaultRule | string, expected: object]

// A fault of the first request, or what the sandbox does for a model.
test.for<Row>([
  [
    'a busy gateway',
    all,
    { action: 'status', status: 429, headers: { 'retry-after': '7' } },
    { exit: 'later', facts: { httpStatus: 429, retryAfterS: 7, billed: 'no' } },
  ],
  ['a failed server', all, { action: 'status', status: 500 }, maybe],
  ['a reset', all, { action: 'reset' }, maybe],
  ['a cut stream', ['respond', 'create'], { action: 'cut', at: 'mid-event' }, maybe],
  ['an error in the stream', ['respond'], { action: 'error-event' }, { exit: 'failed' }],
  ['an error under status 200', ['create', 'edit'], { action: 'error-200' }, { exit: 'failed' }],
  ['blocked content', all, 'sandbox-block', { exit: 'failed' }],
  [
    'an answer that is too long',
    ['respond', 'generate'],
    'sandbox-length',
    { exit: 'failed', code: 'finish_length', facts: paid },
  ],
  ['a failed job', ['video', 'remix'], 'sandbox-failure', { exit: 'failed', code: 'generation_failed' }],
  ['a result that has expired', ['video'], 'sandbox-expired', { code: 'result_expired', facts: paid }],
])('%s is an error, sent once, and leaves no result', async ([, of, failing, expected]) => {
  for (const name of of) {
    // The source of a remix is looked at before.
    const where = name === 'remix' ? ({ endpoint: 'video-remix' } as const) : {}
    const faults = typeof failing === 'string' ? [] : [{ ...failing, ...where }]
    const sandbox = await runningSandbox({ faults })
    const bench = taskBench(sandbox.url)
    writeFiles(bench.folder, { 'in.png': (await testImages(64)).png, 'mask.png': await maskPng(64) })
    const instance = commands[name]!
    const task = bench.taskOf(typeof failing === 'string' ? { ...instance, model: failing } : instance)
    const error: unknown = await executeTask(bench.shared, task).catch((thrown: unknown) => thrown)
    expect([name, error]).toEqual([name, expect.any(Error)])
    expect([name, error]).toMatchObject([name, expected])
    expect(sandbox.requests().filter(({ method }) => method === 'POST')).toHaveLength(1)
    const left = existsSync(task.folder) ? readdirSync(task.folder) : []
    expect(left.filter((file) => /^(?:1\.|result)/.test(file))).toEqual([])
  }
})
