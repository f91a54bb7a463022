import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { JobListDocument } from '../../src/events/video.ts'
import { digestOfKey, type JobProgress, type NewJob } from '../../src/files/calls/job-record.ts'
import { JobStore } from '../../src/files/calls/job-store.ts'
import { newJob } from '../files/calls/job-samples.ts'
import { canaryKey, expectNoKey, expectNoKeyBelow } from '../support/canary-key.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { runMain } from '../support/run-main.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const day = 86_400_000

/** A state folder, and the program run with it. */
function machine() {
  const folder = temporaryFolder()
  const clock = fakeClock()
  const store = new JobStore(folder, clock)
  const add = async (change: Partial<JobProgress>, job: Partial<NewJob> = {}) => {
    const handle = await store.create(newJob(job))
    await handle.update(change)
    await clock.advance(1000)
    return handle
  }
  const list = (words: readonly string[] = [], env: Readonly<Record<string, string>> = {}) =>
    runMain(['jobs', ...words], { env: { MODELGATE_STATE_DIR: folder, ...env }, clock })
  const ids = async (words: readonly string[]) => {
    const { out, code, err } = await list([...words, '--json'])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    return (JSON.parse(out) as JobListDocument).jobs.map(({ id }) => id)
  }
  return { folder, clock, store, add, list, ids }
}

const seconds = (clock: { now(): number }) => clock.now() / 1000

test('jobs are listed newest first: for a person, a script and a program', async () => {
  const { add, list, ids } = machine()
  await add({ id: 'video_old', state: 'pending' })
  await add({}, { idempotency_key: 'key-lost' })
  const none = await runMain(['jobs'], { env: { MODELGATE_STATE_DIR: '/nowhere/at/all' }, terminal: true })
  expect(none).toMatchObject({ code: 0, out: '', err: 'No jobs are on record.\n' })
  const out = expect.stringMatching(/^key:key-lost\tunknown\t.*\nvideo_old\tpending\t.*\n$/) as string
  expect(await list()).toMatchObject({ code: 0, out, err: '' })
  expect(await ids([])).toEqual([null, 'video_old'])
  const lines = (await list(['--jsonl'])).out.trim().split('\n')
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { type: 'start' },
    { type: 'job-list', job: { idempotency_key: 'key-lost' } },
    { type: 'job-list' },
    { type: 'end' },
  ])
})

test('--limit and --state choose', async () => {
  const { add, ids, list } = machine()
  for (const at of [1, 2, 3]) await add({ id: `video_${at}`, state: at === 2 ? 'completed' : 'pending' })
  expect(await ids(['--limit', '2'])).toEqual(['video_3', 'video_2'])
  expect(await ids(['--state', 'pending'])).toEqual(['video_3', 'video_1'])
  expect(await ids(['--state', 'pending', '--limit', '1'])).toEqual(['video_3'])
  expect(await ids(['--state', 'unknown'])).toEqual([])
  const states = 'pending, in_progress, completed, failed, queued, incomplete, cancelled, unknown'
  for (const [words, problem] of [
    [['--limit', '0'], '--limit must be a whole number from 1, not "0".'],
    [['--state', 'done'], `--state must be one of ${states}, not "done".`],
  ] as const)
    expect(await list(words)).toMatchObject({ code: 2, err: `modelgate: ${problem}\n` })
})

test('--prune forgets what is over, and nothing that could still be fetched or still comes', async () => {
  const { add, list, ids, clock } = machine()
  const later = seconds(clock) + 30 * 86_400
  await add({}, { idempotency_key: 'key-old' })
  await add({ id: 'video_silent', state: 'in_progress' })
  await clock.advance(7 * day)
  await add({}, { idempotency_key: 'key-new' })
  await add({ id: 'video_running', state: 'in_progress', expires_at: later })
  await add({ id: 'video_failed', state: 'failed', expires_at: later })
  await add({ id: 'video_saved', state: 'completed', expires_at: later, files: ['/a.mp4'] })
  await add({ id: 'video_waiting', state: 'completed', expires_at: later })
  await add({ id: 'video_timeless', state: 'completed' })
  await add({ id: 'video_expired', state: 'completed', expires_at: seconds(clock) - 1 })
  const two = { request: { instances: [{ prompt: 'Rain' }], parameters: { sampleCount: 2 } } }
  await add({ id: 'video_half', state: 'completed', expires_at: later, files: ['/a.mp4'] }, two)
  await add({ id: 'video_both', state: 'completed', expires_at: later, files: ['/b.mp4', '/c.mp4'] }, two)
  const over = ['video_both', 'video_expired', 'video_saved', 'video_failed', 'video_silent', null]
  const kept = ['video_half', 'video_timeless', 'video_waiting', 'video_running', null]
  expect(await ids(['--prune', '--dry-run'])).toEqual(over)
  expect((await list(['--prune', '--dry-run'])).err).toBe('6 jobs would be forgotten.\n')
  expect(await ids([])).toHaveLength(11)
  expect(await ids(['--prune', '--state', 'failed'])).toEqual(['video_failed'])
  const pruned = await list(['--prune'])
  expect(pruned).toMatchObject({ code: 0, err: '5 jobs forgotten.\n' })
  const names = pruned.out.split('\n').map((line) => line.split('\t')[0])
  expect(names).toEqual(['video_both', 'video_expired', 'video_saved', 'video_silent', 'key:key-old', ''])
  expect(await ids([])).toEqual(kept)
  expect((await list(['--prune'])).err).toBe('0 jobs forgotten.\n')
})

/** A gateway that answers once four have come, or all: whoever asks one by one gets nothing. */
async function gateway(total: number, answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const seen: string[] = []
  const waiting: (() => void)[] = []
  let most = 0
  const server = createServer((request, response) => {
    seen.push(request.url!)
    waiting.push(() => answer(request, response))
    most = Math.max(most, waiting.length)
    if (waiting.length === 4 || seen.length === total) for (const release of waiting.splice(0)) release()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, seen, most: () => most }
}

test('a video of the sandbox is not remixed where every call costs', async () => {
  const { url, seen } = await gateway(1, (_, response) => response.end())
  const { folder, add } = machine()
  await add({ id: 'video_sandbox', state: 'completed' }, { is_sandbox: true })
  const env = { MODELGATE_STATE_DIR: folder, MODELGATE_BASE_URL: url }
  const words = ['video', 'remix', '-m', 'm', '--no-check', '--no-wait', 'video_sandbox', 'At night']
  const err = 'modelgate: The video video_sandbox is in the sandbox: add --sandbox.\n'
  expect(await runMain(words, { env })).toMatchObject({ code: 2, out: '', err: expect.stringContaining(err) })
  expect(seen).toEqual([])
})

const reply = (response: ServerResponse, status: number, body: unknown) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

test('--refresh looks up what has not ended, several at a time; a failed look-up is a warning', async () => {
  const key = canaryKey().replaceAll(/[^\w+/]/g, 'x')
  const { url, seen, most } = await gateway(6, (request, response) => {
    const id = request.url!.split('/').at(-1)!
    if (id === 'video_bad') return reply(response, 404, { error: { message: `No video. Key ${key}.` } })
    const state = id === 'video_3' ? 'failed' : id === 'video_2' ? 'completed' : 'in_progress'
    const error = state === 'failed' ? { code: 'content_refused', message: `Not with ${key}.` } : null
    return reply(response, 200, { id, status: state, progress: 60, expires_at: 1_800_000_000, error })
  })
  const { add, list, folder, store } = machine()
  const here = { base_url: url }
  for (const id of ['1', '2', '3', '4', '5', 'bad']) await add({ id: `video_${id}`, state: 'pending' }, here)
  await add({ id: 'video_over', state: 'completed' }, here)
  await add({}, here)
  await add({ id: 'video_there', state: 'pending' }, { base_url: 'https://other.example' })
  await add({ id: 'video_sandbox', state: 'completed' }, { is_sandbox: true })
  const env = { MODELGATE_BASE_URL: `${url}/`, MODELGATE_API_KEY: key }
  const { code, out, err } = await list(['--refresh', '--json'], env)
  expect(code).toBe(0)
  expect(seen.toSorted()).toEqual(['1', '2', '3', '4', '5', 'bad'].map((name) => `/v1/videos/video_${name}`))
  expect(most()).toBe(4)
  const { jobs, warnings } = JSON.parse(out) as JobListDocument
  expect(jobs.map(({ id, state }) => `${id?.slice(6)} ${state}`).join(', ')).toBe(
    'sandbox completed, there pending, undefined unknown, over completed, bad pending, 5 in_progress, ' +
      '4 in_progress, 3 failed, 2 completed, 1 in_progress',
  )
  expect(warnings.toSorted()).toEqual([
    `1 job is at https://other.example, and not looked up at ${url}.`,
    expect.stringContaining('video_bad: The gateway knows no video video_bad.'),
  ])
  expect((await store.find('video_2'))!.record).toMatchObject({ progress: 60, expires_at: 1_800_000_000 })
  expect((await store.find('video_3'))!.record.error!.code).toBe('content_refused')
  for (const [where, text] of Object.entries({ out, err })) expectNoKey(where, text, key)
  expectNoKeyBelow(folder, key)
})

test('--refresh finds the gateway of each job, and sends the key to one address alone', async () => {
  const answer = (request: IncomingMessage, response: ServerResponse) =>
    reply(response, 200, { id: request.url!.split('/').at(-1)!, status: 'completed' })
  const [newer, older] = await Promise.all([gateway(1, answer), gateway(1, answer)])
  const { add, list } = machine()
  const own = { profile: 'default', key_digest: digestOfKey('key-123') }
  await add({ id: 'video_old', state: 'pending' }, { base_url: older.url, ...own })
  await add({ id: 'video_new', state: 'pending' }, { base_url: newer.url, ...own })
  const { code, out } = await list(['--refresh', '--json'], { MODELGATE_API_KEY: 'key-123' })
  const { jobs, warnings } = JSON.parse(out) as JobListDocument
  expect([code, newer.seen, older.seen]).toEqual([0, ['/v1/videos/video_new'], []])
  expect(jobs.map(({ state }) => state)).toEqual(['completed', 'pending'])
  expect(warnings).toEqual([`1 job is at ${older.url}, and not looked up at ${newer.url}.`])
})

test('nothing to look up needs no gateway; with one missing it is said', async () => {
  const { add, list } = machine()
  await add({ id: 'video_1', state: 'completed' })
  expect(await list(['--refresh'])).toMatchObject({ code: 0 })
  await add({ id: 'video_2', state: 'pending' })
  expect(await list(['--refresh', '--dry-run'])).toMatchObject({ code: 0 })
  const err = expect.stringContaining('No gateway is set up yet') as string
  expect(await list(['--refresh'])).toMatchObject({ code: 2, out: '', err })
})
