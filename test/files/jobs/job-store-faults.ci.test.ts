import { execFile, spawnSync } from 'node:child_process'
import { readdir, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { ModelgateError } from '../../../src/errors.ts'
import { recordKinds, type JobRecord } from '../../../src/files/jobs/job-record.ts'
import { openJobStore } from '../../../src/files/jobs/job-store.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { withFsFault, type FsFault } from '../../support/fs-faults.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { anyPlace, newJob } from './job-samples.ts'

const run = promisify(execFile)

interface Outcome {
  readonly folder: string
  readonly steps: readonly string[]
  /** The changes that were promised to be on record. */
  readonly kept: readonly (keyof typeof promises)[]
  /** The codes of the changes that failed. */
  readonly errors: readonly string[]
  readonly isStopped: boolean
  readonly records: readonly JobRecord[]
  readonly warnings: readonly string[]
}

/** Starts and follows a job, with a fault at one step. */
async function follow(folder: string, fault: FsFault = { step: -1, fault: 'none' }): Promise<Outcome> {
  const kept: Outcome['kept'][number][] = []
  const errors: string[] = []
  const store = openJobStore(folder, fakeClock())
  /** A command goes on when its record cannot be written. */
  async function attempt<Value>(change: keyof typeof promises, step: () => Promise<Value>) {
    try {
      const value = await step()
      kept.push(change)
      return value
    } catch (error) {
      if (!(error instanceof ModelgateError)) throw error
      errors.push(error.code)
      return undefined
    }
  }
  const { steps, value } = await withFsFault(fault, async () => {
    const job = await attempt('created', () => store.create(newJob({ idempotency_key: 'key-a' })))
    if (job === undefined) return 'ended'
    await attempt('named', () => job.update({ id: 'video_1', state: 'pending' }))
    await attempt('saved', () => job.update({ state: 'completed', files: ['/a.mp4'] }))
    return 'ended'
  })
  const { jobs, warnings } = await openJobStore(folder, fakeClock()).list()
  return {
    folder,
    steps,
    kept,
    errors,
    isStopped: value === undefined,
    records: jobs.map(({ record }) => record),
    warnings,
  }
}

/** A job that is started and followed with a fault at every step in turn. */
async function outcomes(fault: string): Promise<Outcome[]> {
  const root = temporaryFolder()
  const { steps } = await follow(join(root, 'none'))
  const results: Outcome[] = []
  for (const step of steps.keys()) results.push(await follow(join(root, String(step)), { step, fault }))
  return results
}

/** What a record must hold once a change is on record; more is fine, because a stop may come before that is known. */
const promises = {
  created: ({ idempotency_key }: JobRecord) => idempotency_key === 'key-a',
  named: ({ id }: JobRecord) => id === 'video_1',
  saved: ({ state, files }: JobRecord) => state === 'completed' && files[0] === '/a.mp4',
}

const isKept = ({ kept, records: [record] }: Outcome) =>
  kept.every((change) => record !== undefined && promises[change](record))

test('stopped before or after any step, what was said to be on record is, and nothing is half written', async () => {
  const results = [...(await outcomes('stop before')), ...(await outcomes('stop after'))]
  expect(results.length).toBeGreaterThan(40)
  expect(results.filter(({ isStopped }) => !isStopped)).toEqual([])
  expect(results.filter((result) => !isKept(result))).toEqual([])
  expect(results.filter(({ warnings, records }) => warnings.length > 0 || records.length > 1)).toEqual([])
  // The stops fell before and after each of the three writes.
  expect(new Set(results.map(({ records }) => records[0]?.state ?? 'none'))).toEqual(
    new Set(['none', 'unknown', 'pending', 'completed']),
  )
  // Whoever goes on finds the record as it is, and leaves one file.
  const clock = fakeClock()
  for (const { folder, records } of results.filter((result) => result.records.length > 0)) {
    const [job] = (await openJobStore(folder, clock).list()).jobs
    await job!.update({ files: ['/b.mp4'] })
    const [resumed] = (await openJobStore(folder, clock).list()).jobs
    expect(resumed!.record).toEqual({ ...records[0], files: [...records[0]!.files, '/b.mp4'] })
    expect(await versionsIn(folder)).toHaveLength(1)
  }
})

test('a record is on the disk before it has its name, and its name is after that', async () => {
  const { steps } = await follow(join(temporaryFolder(), 'state'))
  const renames = steps.flatMap((name, at) => (name === 'rename' ? [at] : []))
  expect(renames.length).toBe(3)
  for (const at of renames) {
    expect(steps.slice(at - 4, at + 4)).toEqual([
      'open',
      'handle.writeFile',
      'handle.sync',
      'handle.close',
      'rename',
      'open',
      'handle.sync',
      'handle.close',
    ])
  }
})

async function versionsIn(folder: string): Promise<string[]> {
  return (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.json'))
}

test('whatever step fails, it is reported as a file error, and the record stays', async () => {
  const results = await outcomes('EIO')
  expect(results.filter(({ isStopped }) => isStopped)).toEqual([])
  const failed = results.filter(({ errors }) => errors.length > 0)
  expect(failed.length).toBeGreaterThan(8)
  expect(failed.flatMap(({ errors }) => errors).filter((code) => code !== 'write_failed')).toEqual([])
  // A change that could not be written is told; the next one is written again.
  expect(failed.filter(({ errors }) => errors.length > 1)).toEqual([])
  expect(results.filter((result) => !isKept(result))).toEqual([])
  expect(results.filter(({ warnings }) => warnings.length > 0)).toEqual([])
})

test('eight processes follow eight jobs while a ninth lists them: no error, and no record is lost', async () => {
  const folder = temporaryFolder()
  const store = openJobStore(folder, fakeClock())
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
  expect(await versionsIn(folder)).toHaveLength(8)
})

test('eight processes that follow the same job lose none of it', async () => {
  const folder = temporaryFolder()
  const store = openJobStore(folder, fakeClock())
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

test('the temporary file of a killed writer goes with a list, a day later', async () => {
  const folder = join(temporaryFolder(), 'state')
  const { steps } = await follow(folder)
  const secondRename = steps.indexOf('rename', steps.indexOf('rename') + 1)
  const other = join(temporaryFolder(), 'state')
  await follow(other, { step: secondRename, fault: 'stop before' })
  const leftovers = async () =>
    (await readdir(other, { recursive: true })).filter((name) => name.endsWith('.mgpart'))
  const [left = ''] = await leftovers()
  expect(left).toMatch(/\.record\.[0-9a-f]{16}\.mgpart$/)
  const clock = fakeClock()
  const day = 24 * 60 * 60
  await utimes(join(other, left), 0, clock.now() / 1000 - day + 60)
  expect((await openJobStore(other, clock).list()).jobs).toHaveLength(1)
  expect(await leftovers()).toEqual([left])
  await utimes(join(other, left), 0, clock.now() / 1000 - day - 60)
  expect((await openJobStore(other, clock).list()).jobs).toHaveLength(1)
  expect(await leftovers()).toEqual([])
})

const canMount = process.platform === 'linux' && process.getuid?.() === 0

test.skipIf(!canMount)('a full disk (needs root for a tmpfs) keeps what was on record', async () => {
  const folder = temporaryFolder()
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder])
  expect(mounted.status).toBe(0)
  try {
    const clock = fakeClock()
    const store = openJobStore(folder, clock)
    const job = await store.create(newJob())
    await job.update({ id: 'video_1' })
    const error = { code: 'x', message: 'y'.repeat(200_000) }
    const full = { exitCode: 10, code: 'no_space' }
    await expect(job.update({ state: 'failed', error })).rejects.toMatchObject(full)
    await expect(store.create(newJob({ prompt: 'p'.repeat(200_000) }))).rejects.toMatchObject(full)
    await job.update({ files: ['/a.mp4'] })
    expect(await versionsIn(folder)).toHaveLength(1)
    const { jobs, warnings } = await store.list()
    expect(warnings).toEqual([])
    expect(jobs).toHaveLength(1)
    expect(jobs[0]!.record).toMatchObject({ id: 'video_1', state: 'unknown', files: ['/a.mp4'] })
  } finally {
    spawnSync('umount', [folder])
  }
})
