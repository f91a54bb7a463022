import { expect, test } from 'vitest'
import { Interrupted } from '../../src/errors.ts'
import type { OutputEvent } from '../../src/events/documents.ts'
import { createOutput } from '../../src/output/create-output.ts'
import { workerRenderer } from '../../src/output/worker-output.ts'
import { testContext } from '../support/test-context.ts'
import { sampleWorker, sampleWorkerEvents } from '../support/worker-samples.ts'

const end = sampleWorkerEvents['task-end']
const done: OutputEvent = { ...end, outcome: 'done', outputs: 1, bytes: 1_234_567, took_s: 12.4, error: null }
const failure = { code: 'unavailable', exit_code: 5, billed: 'no', message: 'HTTP 503.' } as const
const events: readonly OutputEvent[] = [
  { type: 'start', version: 1, command: 'run worker', model: null },
  ...Object.values(sampleWorkerEvents),
  done,
  { ...end, outcome: 'again', again_s: 4, error: failure },
  { ...end, outcome: 'returned', error: { ...failure, message: 'Stopped.' } },
  { ...end, outcome: 'unknown', error: { ...failure, billed: 'maybe', message: 'The reply was lost.' } },
  { type: 'warning-add', message: 'The queue cannot be reached. It is tried again.' },
]

async function shown(options: { readonly quiet?: boolean; readonly mode?: 'json' } = {}, isStopped = false) {
  const context = testContext()
  const output = createOutput(context, { quiet: false, usage: false, own: workerRenderer, ...options })
  for (const event of events) output.event(event)
  if (isStopped) await output.error(new Interrupted('interrupt', { billed: 'yes' }), sampleWorker)
  else await output.end(sampleWorker)
  return { out: context.stdout.text, err: context.stderr.text }
}

test('a line for each request that has ended', async () => {
  const { out, err } = await shown()
  expect(out).toBe('')
  expect(err).toMatchInlineSnapshot(`
    "worker host-1234-0a1b2c3d: redis://queue:6379, s3://bucket/assets: 8 text, 4 image, 20/s of each lane across all workers
    photos[shoe]: failed: The gateway refused it.
    photos[shoe]: done, 1.2 MB, in 0:12
    photos[shoe]: again in 0:04: HTTP 503.
    photos[shoe]: given back: Stopped.
    photos[shoe]: outcome unknown: The reply was lost. It may have been billed.
    warning: The queue cannot be reached. It is tried again.
    12 done, 1 failed, in 1:33
    "
  `)
})

test('a worker that is stopped says what it has done, and not of a single request that it was billed', async () => {
  const { err } = await shown({}, true)
  expect(err).toMatch(/12 done, 1 failed, in 1:33\nmodelgate: Stopped\.\n$/)
})

test('a worker that is stopped says with --json what it has done', async () => {
  const { out, err } = await shown({ mode: 'json' }, true)
  const document: unknown = JSON.parse(/^\{.*$/m.exec(err)![0])
  expect([out, document]).toMatchObject(['', { error: { exit_code: 130 }, partial: sampleWorker }])
})

test('quiet, it tells only what failed, and with --json prints the document', async () => {
  const failed = [
    'photos[shoe]: failed: The gateway refused it.',
    'photos[shoe]: outcome unknown: The reply was lost. It may have been billed.',
  ]
  const quiet = await shown({ quiet: true })
  expect([quiet.out, quiet.err.trimEnd().split('\n')]).toEqual(['', failed])
  const { out, err } = await shown({ mode: 'json' })
  expect(JSON.parse(out)).toEqual(sampleWorker)
  expect(err.trimEnd().split('\n')).toEqual([
    ...failed,
    'warning: The queue cannot be reached. It is tried again.',
  ])
})
