import { execFile } from 'node:child_process'
import { join } from 'node:path'
import process from 'node:process'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { recordKinds } from '../../../src/files/calls/job-record.ts'
import { JobStore } from '../../../src/files/calls/job-store.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { anyPlace, newJob } from './job-samples.ts'

const run = promisify(execFile)

test('eight processes follow eight jobs while a ninth lists them: no error, and no record is lost', async () => {
  const folder = temporaryFolder()
  const store = new JobStore(folder, fakeClock())
  const ids = Array.from({ length: 8 }, (_, at) => `video_${at}_x`)
  for (const id of ids) await (await store.create(newJob())).update({ id, state: 'pending' })
  const script = join(import.meta.dirname, 'wait-child.ts')
  let running = true
  const waiting = Promise.all(
    ids.map((id) => run(process.execPath, [script, folder, id, '20', 'one'])),
  ).finally(() => (running = false))
  let looks = 0
  const progress = new Map<string, number>()
  while (running) {
    await setImmediate()
    const { jobs, warnings } = await store.list()
    expect(warnings).toEqual([])
    expect(jobs.map(({ record }) => record.id).toSorted()).toEqual(ids)
    for (const { record } of jobs) {
      expect(record.progress ?? 0).toBeGreaterThanOrEqual(progress.get(record.id!) ?? 0)
      progress.set(record.id!, record.progress ?? 0)
    }
    looks++
  }
  await waiting
  expect(looks).toBeGreaterThan(8)
  const { jobs } = await store.list()
  expect(jobs.map(({ record }) => [record.state, record.progress, record.files.length])).toEqual(
    ids.map(() => ['completed', 20, 20]),
  )
})

test('eight processes that follow the same job lose none of it', async () => {
  const folder = temporaryFolder()
  const store = new JobStore(folder, fakeClock())
  await (await store.create(newJob())).update({ id: 'video_1', state: 'pending' })
  const script = join(import.meta.dirname, 'wait-child.ts')
  await Promise.all(
    Array.from({ length: 8 }, (_, at) =>
      run(process.execPath, [script, folder, 'video_1', '10', String(at)]),
    ),
  )
  const { record } = (await store.last(anyPlace, recordKinds))!
  expect(record.state).toBe('completed')
  expect(new Set(record.files).size).toBe(80)
})
