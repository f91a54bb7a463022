import { execFile } from 'node:child_process'
import { join } from 'node:path'
import process from 'node:process'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { JobStore } from '../../../src/files/calls/job-store.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { newJob } from './job-samples.ts'

const run = promisify(execFile)

const script = join(import.meta.dirname, 'wait-child.ts')

test.each([
  ['a job each', 8, 20],
  ['the same job', 1, 80],
])(
  'eight processes follow %s while a ninth lists them: no error, nothing is lost',
  async (_, jobs, files) => {
    const folder = temporaryFolder()
    const store = new JobStore(folder, fakeClock())
    const ids = Array.from({ length: jobs }, (_, at) => `video_${at}_x`)
    for (const id of ids) await (await store.create(newJob())).update({ id, state: 'pending' })
    const updates = String((files * jobs) / 8)
    let running = true
    const waiting = Promise.all(
      Array.from({ length: 8 }, (_, at) =>
        run(process.execPath, [script, folder, ids[at % jobs]!, updates, String(at)]),
      ),
    ).finally(() => (running = false))
    let looks = 0
    const progress = new Map<string, number>()
    while (running) {
      await setImmediate()
      const { jobs, warnings } = await store.list()
      expect(warnings).toEqual([])
      expect(jobs.map(({ record }) => record.id).toSorted()).toEqual(ids)
      for (const { record } of jobs) {
        if (ids.length > 1) expect(record.progress ?? 0).toBeGreaterThanOrEqual(progress.get(record.id!) ?? 0)
        progress.set(record.id!, record.progress ?? 0)
      }
      looks++
    }
    await waiting
    expect(looks).toBeGreaterThan(8)
    const records = (await store.list()).jobs.map(({ record }) => record)
    expect(records.map((record) => [record.state, new Set(record.files).size])).toEqual(
      ids.map(() => ['completed', files]),
    )
  },
)
