import { videoStates } from '../../../src/contract/video-state.ts'
import process from 'node:process'
import * as fc from 'fast-check'
import { chmodSync, mkdirSync, readFileSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

import { recordKinds, summaryOf, videoKinds, type JobProgress } from '../../../src/files/jobs/job-record.ts'
import { openJobStore, type JobStore } from '../../../src/files/jobs/job-store.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { anyPlace, newJob } from './job-samples.ts'
import { runs } from '../../support/sample.ts'

function newStore(folder = temporaryFolder(), clock = fakeClock()) {
  return { folder, clock, store: openJobStore(folder, clock), jobs: join(folder, 'jobs') }
}

/** Every file below a folder, by its path. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()
}

async function recordsOf(store: JobStore) {
  const { jobs, warnings } = await store.list()
  expect(warnings).toEqual([])
  return jobs.map(({ record }) => record)
}

test('a job is recorded before anything is known about it, and everything learned is added', async () => {
  const { store, clock } = newStore()
  const job = newJob({ idempotency_key: 'key-a' })
  const handle = await store.create(job)
  const fresh = {
    ...job,
    version: 5,
    id: null,
    created_at: clock.now() / 1000,
    checked_at: null,
    state: 'unknown',
    status: null,
    progress: null,
    expires_at: null,
    files: [],
    request_id: null,
    error: null,
  }
  expect(await recordsOf(store)).toEqual([fresh])
  await handle.update({ id: 'video_1', state: 'pending', status: 'queued', request_id: 'req_1' })
  await clock.advance(9_999)
  await handle.update({ state: 'in_progress', status: 'running', progress: 40, expires_at: 1_800_000_000 })
  await handle.update({ state: 'completed', status: 'done', progress: 100, expires_at: null })
  await handle.update({ files: ['/project/boat.mp4'] })
  const whole = {
    ...fresh,
    id: 'video_1',
    checked_at: clock.now() / 1000 - 0.999,
    completed_at: clock.now() / 1000 - 0.999,
    state: 'completed',
    status: 'done',
    progress: 100,
    expires_at: 1_800_000_000,
    files: ['/project/boat.mp4'],
    request_id: 'req_1',
  }
  expect(await recordsOf(store)).toEqual([whole])
  expect(handle.record).toEqual(whole)
  const { version, command, request, output, error, request_id, ...summary } = handle.record
  expect([version, command, request, output, error, request_id].length).toBe(6)
  expect(summaryOf(handle.record)).toEqual(summary)
})

test.skipIf(process.platform === 'win32')('each job is one file that only its owner may read', async () => {
  const { store, jobs } = newStore()
  const handle = await store.create(newJob({ idempotency_key: '../../etc/passwd' }))
  await handle.update({ id: '../../../etc/shadow', state: 'pending' })
  const [file = '', ...more] = filesIn(jobs)
  expect(more).toEqual([])
  expect(file.slice(jobs.length)).toMatch(/^\/20260101T000000000-[0-9a-f]{16}\/2-[0-9a-f]{16}\.json$/)
  const modes = [file, join(file, '..'), jobs].map((path) => statSync(path).mode & 0o777)
  expect(modes).toEqual([0o600, 0o700, 0o700])
})

test('no key and no media get on record', async () => {
  const { store, folder } = newStore()
  const secret = 'sk-canary-0123456789'
  const withRedactor = openJobStore(folder, fakeClock(), {
    clean: (json) => json.replaceAll(secret, '[hidden]'),
  })
  const media = 'QUJD'.repeat(4000)
  for (const base_url of [
    `https://user:${secret}@gateway.example/v1?key=${secret}#${secret}`,
    `https://${secret}@gateway.example/v1`,
    `no url ${secret}`,
  ]) {
    const image = { bytesBase64Encoded: media, mimeType: 'image/png' }
    await store.create(
      newJob({
        prompt: 'with pictures',
        base_url,
        request: {
          instances: [
            { prompt: 'a boat', image, other: { deep: [`data:image/png;base64,${media}`, media] } },
          ],
          parameters: { durationSeconds: 4 },
        },
      }),
    )
  }
  const handle = await withRedactor.create(newJob({ prompt: `say ${secret}` }))
  await handle.update({ state: 'failed', error: { code: 'x', message: `The key ${secret} is bad.` } })
  const texts = filesIn(folder).map((file) => readFileSync(file, 'utf8'))
  expect(texts).toHaveLength(4)
  expect(texts.filter((text) => text.includes('canary') || text.includes('QUJD'))).toEqual([])
  const records = await recordsOf(store)
  expect(records.map(({ base_url }) => base_url).toSorted()).toEqual([
    '',
    'https://gateway.example/v1',
    'https://gateway.example/v1',
    'https://gateway.example/v1',
  ])
  expect(records.find(({ prompt }) => prompt === 'with pictures')!.request).toEqual({
    instances: [
      {
        prompt: 'a boat',
        image: { bytesBase64Encoded: null, mimeType: 'image/png' },
        other: { deep: [null, null] },
      },
    ],
    parameters: { durationSeconds: 4 },
  })
})

test('newest first, also of those of one second', async () => {
  const { store, clock } = newStore()
  for (const prompt of ['first', 'second', 'third']) {
    await store.create(newJob({ prompt }))
    await clock.advance(prompt === 'first' ? 1 : 1500)
  }
  expect((await recordsOf(store)).map(({ prompt }) => prompt)).toEqual(['third', 'second', 'first'])
  expect((await store.last(anyPlace, recordKinds))?.record.prompt).toBe('third')
  expect(await newStore().store.last(anyPlace, recordKinds)).toBeUndefined()
})

const rank = (state: string) => ({ unknown: 0, completed: 2, failed: 2 })[state] ?? 1
const states = [...videoStates, 'unknown'] as const
const anyChange: fc.Arbitrary<Partial<JobProgress>> = fc.record(
  {
    id: fc.constantFrom(null, 'video_1'),
    state: fc.constantFrom(...states),
    progress: fc.option(fc.integer({ min: 0, max: 100 })),
    files: fc.array(fc.constantFrom('/a.mp4', '/b.mp4', '/c.mp4', '/d.mp4'), { maxLength: 2 }),
    expires_at: fc.option(fc.constant(1_800_000_000)),
  },
  { requiredKeys: [] },
)

test('whatever several handles write at once, no file, id or end is lost', async () => {
  const root = temporaryFolder()
  let run = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(anyChange, { minLength: 1, maxLength: 4 }), { minLength: 2, maxLength: 5 }),
      async (writers) => {
        const folder = join(root, String(run++))
        const { store } = newStore(folder)
        const created = await store.create(newJob())
        const handles = await Promise.all(
          writers.map(async (_, at) =>
            at === 0 ? created : (await newStore(folder).store.last(anyPlace, recordKinds))!,
          ),
        )
        const seen: (typeof created.record)[] = []
        const watch = async () => {
          for (let look = 0; look < 5; look++) seen.push(...(await recordsOf(newStore(folder).store)))
        }
        const writing = writers.map(async (changes, at) => {
          for (const change of changes) await handles[at]!.update(change)
        })
        await Promise.all([watch(), ...writing])
        const [record, ...others] = await recordsOf(store)
        const changes = writers.flat()
        expect(others).toEqual([])
        expect(record!.files.toSorted()).toEqual(
          [...new Set(changes.flatMap(({ files = [] }) => files))].toSorted(),
        )
        expect(record!.id).toBe(changes.some(({ id }) => id === 'video_1') ? 'video_1' : null)
        const highest = Math.max(0, ...changes.map(({ state = 'unknown' }) => rank(state)))
        expect(rank(record!.state)).toBe(highest)
        // Every look found the job, and what was there once stayed.
        expect(seen).toHaveLength(5)
        for (const [at, { files, id, state }] of seen.entries()) {
          const after = seen[at + 1] ?? record!
          expect(after.files).toEqual(expect.arrayContaining([...files]))
          expect(after.id ?? id).toBe(after.id)
          expect(rank(after.state)).toBeGreaterThanOrEqual(rank(state))
        }
      },
    ),
    runs(40),
  )
})

test('calls of one handle need not be awaited', async () => {
  const { store, jobs } = newStore()
  const handle = await store.create(newJob())
  const paths = Array.from({ length: 20 }, (_, at) => `/${at}.mp4`)
  await Promise.all(paths.map((path) => handle.update({ files: [path] })))
  expect(handle.record.files).toEqual(paths)
  expect(filesIn(jobs)).toHaveLength(1)
})

test('fields of a later version stay, also those with the name of a prototype', async () => {
  const { store, jobs, folder } = newStore()
  await store.create(newJob())
  const [file = ''] = filesIn(jobs)
  const later = readFileSync(file, 'utf8').replace(
    '"version": 5,',
    '"version": 6, "new": [1], "__proto__": {"x": 1},',
  )
  writeFileSync(file, later)
  const found = (await newStore(folder).store.last(anyPlace, recordKinds))!
  await found.update({ state: 'pending' })
  const written = JSON.parse(readFileSync(filesIn(jobs)[0]!, 'utf8')) as Record<string, unknown>
  expect(written).toMatchObject({ version: 6, new: [1], state: 'pending' })
  expect(Object.getOwnPropertyDescriptor(written, '__proto__')?.value).toEqual({ x: 1 })
  expect(({} as { x?: unknown }).x).toBeUndefined()
})

test('what a job has led to stays when more is learned, and is damage when it is unusable', async () => {
  const { store, jobs } = newStore()
  const handle = await store.create(newJob())
  const video = {
    path: '/a.mp4',
    bytes: 5,
    sha256: 'ab',
    mime_type: 'video/mp4',
    format: 'mp4',
    verified: true,
  }
  const result = { reply: { id: 'a' }, videos: [{ ...video, width: null, height: 720, seconds: 4 }] }
  await handle.update({ result })
  await (await store.last(anyPlace, recordKinds))!.update({ state: 'in_progress' })
  expect(await recordsOf(store)).toMatchObject([{ state: 'in_progress', result }])
  const [file = ''] = filesIn(jobs)
  writeFileSync(file, readFileSync(file, 'utf8').replace('"bytes": 5', '"bytes": "5"'))
  const { jobs: left, warnings } = await store.list()
  expect([left, warnings]).toEqual([[], [expect.stringContaining('has no valid "result"')]])
})

test.each([
  ['half a record', '{"version": 1, "id": "vi'],
  ['nothing', ''],
  ['no object', '[]'],
  ['a field of another type', '{"version": 1, "id": 5}'],
  ['binary', '\0\xff\x1b[31m'],
  ['deep', `${'['.repeat(2000)}${']'.repeat(2000)}`],
])('a damaged record (%s) is told and left out; the others are there', async (_, text) => {
  const { store, jobs } = newStore()
  await store.create(newJob({ prompt: 'whole' }))
  const broken = join(jobs, `20260101T000000000-${'0'.repeat(16)}`)
  mkdirSync(broken)
  writeFileSync(join(broken, `1-${'a'.repeat(16)}.json`), text)
  const list = await store.list()
  expect(list.jobs.map(({ record }) => record.prompt)).toEqual(['whole'])
  expect(list.warnings).toEqual([expect.stringContaining(`Skipped the job record in "${broken}": 1-aaaa`)])
  expect(list.warnings[0]).not.toContain('\x1b')
  expect(readFileSync(join(broken, `1-${'a'.repeat(16)}.json`), 'utf8')).toBe(text)
})

test('beside a damaged version the whole one counts, and what others put there is left alone', async () => {
  const { store, jobs } = newStore()
  const handle = await store.create(newJob())
  const folder = join(filesIn(jobs)[0]!, '..')
  writeFileSync(join(folder, `7-${'b'.repeat(16)}.json`), '{')
  writeFileSync(join(jobs, 'notes.txt'), 'mine')
  mkdirSync(join(jobs, 'other'))
  await handle.update({ id: 'video_1' })
  const { jobs: found, warnings } = await store.list()
  expect(found.map(({ record }) => record.id)).toEqual(['video_1'])
  expect(warnings).toHaveLength(1)
  expect(readdirSync(folder).toSorted()).toEqual([`7-${'b'.repeat(16)}.json`, expect.stringMatching(/^8-/)])
  expect(readFileSync(join(jobs, 'notes.txt'), 'utf8')).toBe('mine')
})

test('what killed writers left goes after a day, and not before', async () => {
  const { store, jobs, clock } = newStore()
  await store.create(newJob())
  const empty = join(jobs, `20260101T000000001-${'1'.repeat(16)}`)
  mkdirSync(empty)
  const left = join(empty, `.record.${'c'.repeat(16)}.mgpart`)
  const age = (seconds: number) =>
    utimesSync(left, clock.now() / 1000 - seconds, clock.now() / 1000 - seconds)
  writeFileSync(left, '{"half')
  age(23 * 3600)
  expect(await recordsOf(store)).toHaveLength(1)
  expect(readdirSync(empty)).toHaveLength(1)
  age(25 * 3600)
  expect(await recordsOf(store)).toHaveLength(1)
  expect(readdirSync(jobs)).toHaveLength(1)
})

test('a forgotten job is gone, and returns when more is learned about it', async () => {
  const { store, jobs } = newStore()
  const handles = [await store.create(newJob({ prompt: 'a' })), await store.create(newJob({ prompt: 'b' }))]
  await handles[0]!.update({ id: 'video_a', files: ['/a.mp4'] })
  await store.forget((await store.list()).jobs)
  expect(readdirSync(jobs)).toEqual([])
  await store.forget(handles)
  await handles[0]!.update({ state: 'completed' })
  expect(await recordsOf(store)).toMatchObject([{ prompt: 'a', id: 'video_a', files: ['/a.mp4'] }])
})

test('without a folder nothing is on record, and it is said', async () => {
  const store = openJobStore(undefined, fakeClock())
  await expect(store.create(newJob())).rejects.toMatchObject({ exitCode: 10, code: 'no_state_folder' })
  expect(await store.list()).toEqual({ jobs: [], warnings: [expect.stringContaining('no home directory')] })
  expect(await store.find('video_1')).toBeUndefined()
  await store.forget([])
})

test('a path that is not a folder, or cannot be read', async () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'file'), '')
  const { store } = newStore(join(folder, 'file'))
  await expect(store.create(newJob())).rejects.toMatchObject({ exitCode: 10, code: 'not_a_folder' })
  expect(await store.list(videoKinds)).toEqual({
    jobs: [],
    warnings: [expect.stringContaining('cannot be read')],
  })
  expect(await newStore(join(folder, 'missing')).store.list()).toEqual({ jobs: [], warnings: [] })
})

test.skipIf(process.getuid?.() === 0)('a folder that may not be written', async () => {
  const { store, folder } = newStore()
  chmodSync(folder, 0o500)
  await expect(store.create(newJob())).rejects.toMatchObject({ exitCode: 10, code: 'permission_denied' })
  chmodSync(folder, 0o700)
})
