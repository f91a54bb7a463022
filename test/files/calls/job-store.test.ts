import process from 'node:process'
import * as fc from 'fast-check'
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { recordKinds, videoKinds, type JobProgress } from '../../../src/files/calls/job-record.ts'
import { JobStore } from '../../../src/files/calls/job-store.ts'
import { sealedLine } from '../../../src/files/sealed-lines.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { anyPlace, newJob } from './job-samples.ts'
import { runs, sample } from '../../support/sample.ts'
import { hostileNames } from '../../support/hostile-names.ts'

function newStore(folder = temporaryFolder(), clock = fakeClock()) {
  return { folder, clock, store: new JobStore(folder, clock), month: join(folder, 'calls/2026-01.jsonl') }
}

const secret = 'sk-canary-0123456789'
const clean = (text: string) => text.replaceAll(secret, '[hidden]')

async function recordsOf(store: JobStore) {
  const { jobs, warnings } = await store.list()
  expect(warnings).toEqual([])
  return jobs.map(({ record }) => record)
}

test('a job is recorded before anything is known about it, and everything learned is added', async () => {
  const { store, clock } = newStore()
  const job = newJob({ idempotency_key: 'key-a' })
  const handle = await store.create(job)
  const nothing = { id: null, checked_at: null, status: null, progress: null, expires_at: null, files: [] }
  const created_at = clock.now() / 1000
  const fresh = { ...job, ...nothing, created_at, state: 'unknown', request_id: null, error: null }
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
})

test.skipIf(process.platform === 'win32')('what is on record may be read by its owner alone', async () => {
  const { store, folder } = newStore()
  await store.create(newJob({ idempotency_key: '../../etc/passwd' }), 'A boat')
  const names = readdirSync(folder, { recursive: true }).map(String).toSorted()
  const words = names.find((name) => name.endsWith('.json'))!
  expect(names).toEqual(['calls', 'calls/2026-01.jsonl', 'calls/version', 'calls/words', words].toSorted())
  const modes = names.map((name) => statSync(join(folder, name)).mode & 0o777)
  expect(modes).toEqual(names.map((name) => (name.endsWith('s') ? 0o700 : 0o600)))
})

test('no key and no media get on record, and no words in a line', async () => {
  const { store, folder, month } = newStore()
  const media = 'QUJD'.repeat(4000)
  for (const base_url of [
    `https://user:${secret}@gateway.example/v1?key=${secret}#${secret}`,
    `https://${secret}@gateway.example/v1`,
    `no url ${secret}`,
  ]) {
    const image = { bytesBase64Encoded: media, mimeType: 'image/png' }
    const other = [`data:image/png;base64,${media}`]
    const request = {
      instances: [{ prompt: 'a red boat', image }],
      parameters: { durationSeconds: 4, negativePrompt: 'a red boat', other },
    }
    await store.create(newJob({ base_url, request }), 'a red boat')
  }
  const handle = await new JobStore(folder, fakeClock(), { clean }).create(newJob(), `say ${secret}`)
  await handle.update({ state: 'failed', error: { code: 'x', message: `The key ${secret} is bad.` } })
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  )
  const texts = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8'))
  expect(texts).toHaveLength(6)
  expect(texts.filter((text) => text.includes('canary') || text.includes('QUJD'))).toEqual([])
  expect(readFileSync(month, 'utf8')).not.toContain('red boat')
  const { jobs } = await store.list()
  expect(jobs.map((job) => [job.prompt(), job.record.base_url])).toEqual([
    ['say [hidden]', 'https://gateway.example/v1'],
    ['a red boat', ''],
    ['a red boat', 'https://gateway.example/v1'],
    ['a red boat', 'https://gateway.example/v1'],
  ])
  const kept = { instances: [{}], parameters: { durationSeconds: 4, other: [null] } }
  expect(jobs[1]!.record.request).toEqual(kept)
})

test('of a response the text format alone is kept, and no prompt where none is to be', async () => {
  const { store, folder } = newStore()
  const text = { format: { type: 'json_schema', schema: { properties: { prompt: {} } } } }
  const request = { input: 'secret words', instructions: 'others', text }
  await store.create(newJob({ kind: 'response', request }))
  const job = (await newStore(folder).store.last(anyPlace, recordKinds))!
  expect([job.record.request, job.prompt()]).toEqual([{ text }, ''])
})

test('a job is on record even if its prompt cannot be kept', async () => {
  const { folder, store } = newStore()
  mkdirSync(join(folder, 'calls'))
  writeFileSync(join(folder, 'calls/words'), 'in the way')
  await store.create(newJob({ idempotency_key: 'key-a' }), 'A boat')
  expect(await recordsOf(new JobStore(folder, fakeClock()))).toMatchObject([{ idempotency_key: 'key-a' }])
})

test('newest first, also of those of one second', async () => {
  const { store, clock } = newStore()
  for (const prompt of ['first', 'second', 'third']) {
    await store.create(newJob(), prompt)
    await clock.advance(prompt === 'first' ? 1 : 1500)
  }
  expect((await store.list()).jobs.map((job) => job.prompt())).toEqual(['third', 'second', 'first'])
  expect((await store.last(anyPlace, recordKinds))?.prompt()).toBe('third')
  expect(await newStore().store.last(anyPlace, recordKinds)).toBeUndefined()
})

const running = { pending: 1, queued: 1, in_progress: 1 } as const
const ranks = { unknown: 0, ...running, completed: 2, failed: 2, cancelled: 2, incomplete: 2 } as const
const anyChange: fc.Arbitrary<Partial<JobProgress>> = fc.record(
  {
    id: fc.constantFrom(null, 'video_1'),
    state: fc.constantFrom(...(Object.keys(ranks) as (keyof typeof ranks)[])),
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
        const highest = Math.max(0, ...changes.map(({ state = 'unknown' }) => ranks[state]))
        expect(ranks[record!.state]).toBe(highest)
        // Every look found the job, and what was there once stayed.
        expect(seen).toHaveLength(5)
        for (const [at, { files, id, state }] of seen.entries()) {
          const after = seen[at + 1] ?? record!
          expect(after.files).toEqual(expect.arrayContaining([...files]))
          expect(after.id ?? id).toBe(after.id)
          expect(ranks[after.state]).toBeGreaterThanOrEqual(ranks[state])
        }
      },
    ),
    runs(40),
  )
})

test('calls of one handle need not be awaited', async () => {
  const { store } = newStore()
  const handle = await store.create(newJob())
  const paths = Array.from({ length: 20 }, (_, at) => `/${at}.mp4`)
  await Promise.all(paths.map((path) => handle.update({ files: [path] })))
  expect(handle.record.files).toEqual(paths)
})

test('fields of a later version stay, and lines of other types are left alone', async () => {
  const { store, folder, month } = newStore()
  await store.create(newJob({ new: [1] } as object))
  appendFileSync(
    month,
    sealedLine(`{"id":"${'0'.repeat(16)}","at":"2026-01-01T00:00:00.000Z","type":"just new"}`),
  )
  await (await newStore(folder).store.last(anyPlace, recordKinds))!.update({ state: 'pending' })
  expect(await recordsOf(newStore(folder).store)).toMatchObject([{ new: [1], state: 'pending' }])
})

test('what a job has led to stays when more is learned', async () => {
  const { store } = newStore()
  const handle = await store.create(newJob())
  const video = { path: '/a.mp4', bytes: 5, sha256: 'ab', mime_type: 'video/mp4', format: 'mp4' }
  const videos = [{ ...video, verified: true, width: null, height: 720, seconds: 4 }]
  await handle.update({ result: { reply: { id: 'a', prompt: 'a boat' }, videos } })
  await (await store.last(anyPlace, recordKinds))!.update({ state: 'in_progress' })
  const result = { reply: { id: 'a' }, videos }
  expect(await recordsOf(store)).toMatchObject([{ state: 'in_progress', result }])
})

test('a flipped bit costs what one line said; it is told, and the other jobs are there', async () => {
  const { store, month, folder } = newStore()
  const broken = await store.create(newJob())
  await broken.update({ id: 'video_1', state: 'pending' })
  await (await store.create(newJob())).update({ id: 'video_2' })
  const text = readFileSync(month, 'utf8')
  writeFileSync(month, text.replace('"state":"pending"', '"state":"pendinf"'))
  const { jobs, warnings } = await newStore(folder).store.list()
  expect(jobs.map(({ record }) => record.id)).toEqual(['video_2', null])
  expect(warnings).toEqual([
    expect.stringMatching(/^Skipped the line at byte \d+ of ".*2026-01\.jsonl": it is damaged\.$/),
  ])
})

test('what a killed writer has left of a line is no record, and hides no later one', async () => {
  const { store, month, folder } = newStore()
  const job = await store.create(newJob())
  appendFileSync(month, readFileSync(month, 'utf8').slice(0, 100))
  expect(await recordsOf(newStore(folder).store)).toHaveLength(1)
  await job.update({ id: 'video_1' })
  expect(await recordsOf(newStore(folder).store)).toMatchObject([{ id: 'video_1' }])
})

test('a job is found in the next month, whatever the clock says', async () => {
  const { folder } = newStore()
  const at = (month: number) => new JobStore(folder, { now: () => Date.UTC(2026, month, 2) })
  await (await at(10).create(newJob())).update({ id: 'video_1' })
  await (await at(11).find('video_1'))!.update({ state: 'in_progress' })
  await (await at(10).find('video_1'))!.update({ state: 'completed' })
  expect(readdirSync(join(folder, 'calls')).toSorted()).toEqual(['2026-11.jsonl', '2026-12.jsonl', 'version'])
  expect(await recordsOf(at(12))).toMatchObject([{ id: 'video_1', state: 'completed' }])
})

test('a forgotten job is gone with its words, and returns when more is learned about it', async () => {
  const { store, folder } = newStore()
  const handles = [await store.create(newJob(), 'a'), await store.create(newJob(), 'b')]
  await handles[0]!.update({ id: 'video_a', files: ['/a.mp4'] })
  await store.forget((await store.list()).jobs)
  expect(await recordsOf(newStore(folder).store)).toEqual([])
  expect(readdirSync(join(folder, 'calls/words'))).toEqual([])
  await store.forget(handles)
  await handles[0]!.update({ state: 'completed' })
  expect(await recordsOf(newStore(folder).store)).toMatchObject([{ id: 'video_a', files: ['/a.mp4'] }])
})

test('without a folder nothing is on record, and it is said', async () => {
  const store = new JobStore(undefined, fakeClock())
  await expect(store.create(newJob())).rejects.toMatchObject({ exitCode: 10, code: 'no_state_folder' })
  expect(await store.list()).toEqual({ jobs: [], warnings: [expect.stringContaining('no home directory')] })
  expect(await store.find('video_1')).toBeUndefined()
  await store.forget([])
})

test('a path that is not a folder, or cannot be read', async () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'file'), '')
  const { store } = newStore(join(folder, 'file'))
  await expect(store.create(newJob())).rejects.toMatchObject({ exitCode: 10, code: 'not_found' })
  const warnings = [expect.stringContaining('cannot be read')]
  expect(await store.list(videoKinds)).toEqual({ jobs: [], warnings })
  expect(await newStore(join(folder, 'missing')).store.list()).toEqual({ jobs: [], warnings: [] })
})

test.skipIf(process.getuid?.() === 0)('a folder that may not be written', async () => {
  const { store, folder } = newStore()
  chmodSync(folder, 0o500)
  await expect(store.create(newJob())).rejects.toMatchObject({ exitCode: 10, code: 'permission_denied' })
  chmodSync(folder, 0o700)
})

async function storeWith(ids: readonly (string | null)[]) {
  const { store, clock } = newStore()
  for (const id of ids) {
    await (await store.create(newJob({ kind: id?.includes('/') ? 'operation' : 'video' }))).update({ id })
    await clock.advance(1000)
  }
  return store
}

const operation = 'models/veo/operations/op_9f3c'

test.each([
  ['video_1', 'video_1'],
  ['video_12', 'video_12'],
  ['video_12345', 'video_12345'],
  ['video_123', 'video_12345'],
  [operation, operation],
  ['op_9f3c', operation],
  ['op_9', operation],
  ['models/veo', operation],
  ['op_', undefined],
  ['VIDEO_1', undefined],
  ['', undefined],
  ['operations', undefined],
  ['video_9', undefined],
])('%s finds %s', async (text, id) => {
  const store = await storeWith([null, 'video_1', 'video_12', 'video_12345', operation, null])
  expect((await store.find(text))?.record.id).toBe(id)
})

test('a beginning of several is refused, and all of them named', async () => {
  const store = await storeWith(['video_1', 'video_2', 'video_2', operation])
  const message = '2 jobs have ids that begin with video:\n  video_2\n  video_1'
  await expect(store.find('video')).rejects.toMatchObject({ exitCode: 2, code: 'unknown_id', message })
  const many = await storeWith(Array.from({ length: 13 }, (_, at) => `video_${at}`))
  await expect(many.find('vide')).rejects.toThrow(
    /^13 jobs .*\n {2}video_12\n(?: {2}video_\d+\n){9} {2}and 3 more$/,
  )
})

test('an id may be anything at all', async () => {
  const ids = sample(
    [...new Set(hostileNames)].filter((id) => id !== ''),
    40,
  )
  const store = await storeWith(ids)
  expect(new Set((await recordsOf(store)).map(({ id }) => id))).toEqual(new Set(ids))
  for (const id of ids) expect((await store.find(id))?.record.id).toBe(id)
})

test('a background response is on record beside the videos, and each is found by its id', async () => {
  const { store } = newStore()
  await (await store.create(newJob())).update({ id: 'video_1' })
  await (await store.create(newJob({ kind: 'response', checks_schema: true }))).update({ id: 'resp_1' })
  const response = { id: 'resp_1', checks_schema: true }
  expect((await store.last(anyPlace, ['response']))?.record).toMatchObject(response)
  expect((await store.last(anyPlace, videoKinds))?.record.id).toBe('video_1')
  expect((await store.find('resp_'))?.record.kind).toBe('response')
  expect((await store.list(videoKinds)).jobs.map(({ record }) => record.id)).toEqual(['video_1'])
  expect(await recordsOf(store)).toHaveLength(2)
})

test('the last job is that of this terminal, else that of this folder, and never that of another', async () => {
  const { store, clock } = newStore()
  const output = { output: null, folder: null, force: false }
  for (const [id, cwd, place] of [
    ['mine', '/a', { terminal: 'tty-1' }],
    ['other terminal', '/a', { terminal: 'tty-2' }],
    ['of a script', '/b', {}],
  ] as const) {
    await clock.advance(1000)
    await (await store.create(newJob({ output: { ...output, cwd }, ...place }))).update({ id })
  }
  const lastOf = async (terminal: string | undefined, cwd: string) =>
    (await store.last({ terminalId: terminal, cwd }, recordKinds))?.record.id
  expect(await lastOf('tty-1', '/b')).toBe('mine')
  expect(await lastOf('tty-3', '/b')).toBe('of a script')
  expect(await lastOf(undefined, '/a')).toBe('other terminal')
  expect(await lastOf('tty-3', '/c')).toBeUndefined()
})

function replyStore() {
  const folder = temporaryFolder()
  const readReply = (text: string) => {
    const id = /"id":"(\w+)"/.exec(text)?.[1]
    return id === undefined ? undefined : { id, kind: 'video' as const }
  }
  const store = new JobStore(folder, fakeClock(), { clean, readReply })
  const replies = () =>
    readdirSync(folder, { recursive: true })
      .map((name) => join(folder, String(name)))
      .filter((name) => /replies.[0-9a-f]{16}$/.test(name))
  return { folder, store, replies }
}

test('each piece of the reply is on disk at once, for the user alone', async () => {
  const { store, replies } = replyStore()
  const log = await (await store.create(newJob())).openReplyLog()
  const [path = ''] = replies()
  expect(statSync(path).mode & 0o777).toBe(0o600)
  log.add(Buffer.from('{"object":"video",'))
  expect(readFileSync(path, 'utf8')).toBe('{"object":"video",')
  log.add(Buffer.from('"id":"video_1"'))
  expect(readFileSync(path, 'utf8')).toBe('{"object":"video","id":"video_1"')
  expect((await store.last(anyPlace, recordKinds))!.record).toMatchObject({ id: 'video_1', state: 'unknown' })
  expect((await store.find('video_1'))!.record.id).toBe('video_1')
  log.close()
})

test('the reply goes when the id is on record, and with the job', async () => {
  const { store, replies } = replyStore()
  const job = await store.create(newJob())
  const log = await job.openReplyLog()
  log.add(Buffer.from('{"id":"video_1"}'))
  await job.update({ error: { code: 'x', message: 'y' } })
  expect(replies().length).toBe(1)
  await job.update({ id: 'video_1' })
  expect(replies()).toEqual([])
  log.close()
  const other = await store.create(newJob())
  const otherLog = await other.openReplyLog()
  otherLog.add(Buffer.from('{"id":"video_2"'))
  otherLog.close()
  await store.forget([other])
  expect([replies(), (await recordsOf(store)).length]).toEqual([[], 1])
})

test('a process that resumes a job records the id it has found', async () => {
  const { folder, store, replies } = replyStore()
  const log = await (await store.create(newJob())).openReplyLog()
  log.add(Buffer.from('{"id":"video_1"'))
  log.close()
  await (await store.last(anyPlace, recordKinds))!.update({ state: 'in_progress' })
  expect(replies()).toEqual([])
  const found = [{ id: 'video_1', kind: 'video', state: 'in_progress' }]
  expect(await recordsOf(newStore(folder).store)).toMatchObject(found)
})

test('no key reaches the disk, even in two pieces, and no more than the beginning does', async () => {
  const { store, replies } = replyStore()
  const log = await (await store.create(newJob())).openReplyLog()
  log.add(Buffer.from(`{"id":"video_1","echo":"${secret.slice(0, 9)}`))
  log.add(Buffer.from(`${secret.slice(9)}"`))
  const [path = ''] = replies()
  expect(readFileSync(path, 'utf8')).toBe('{"id":"video_1","echo":"[hidden]"')
  for (let count = 0; count < 200; count++) log.add(Buffer.alloc(1000, 'x'))
  expect(statSync(path).size).toBeLessThanOrEqual(163_840)
  log.close()
  log.add(Buffer.from('after the end'))
})
