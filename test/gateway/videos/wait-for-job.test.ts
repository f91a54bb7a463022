import { expect, test } from 'vitest'
import { Interrupted } from '../../../src/errors.ts'
import type { Job } from '../../../src/gateway/videos/job-requests.ts'
import type { JobReport } from '../../../src/gateway/videos/read-job.ts'
import { waitForJob, type FailedLookUp, type WaitOptions } from '../../../src/gateway/videos/wait-for-job.ts'
import { canMakeCertificates, makeCertificate } from '../../support/certificate.ts'
import { fakeClock, type FakeClock } from '../../support/fake-clock.ts'
import { localServer } from '../../support/local-server.ts'
import {
  end,
  json,
  readAll,
  reset,
  stall,
  text,
  write,
  type ServerReply,
} from '../../support/server-replies.ts'
import { advanceUntilSettled, served, settled, testGateway, until } from '../test-gateway.ts'
import { operationName, read } from './job-facts.ts'
import { pollingTime } from './polling-time.ts'

const id = 'video_1'
const job: Job = { kind: 'video', id }
const goOn = { hint: 'Go on with: modelgate wait video_1', next: ['modelgate', 'wait', 'video_1'] }

const status = (word: string, more: object = {}, headers: Record<string, string> = {}) =>
  json({ id, status: word, ...more }, { headers })
const running = (progress?: unknown) => status('in_progress', { progress })
const completed = status('completed', { progress: 100 })
const busy = json({ error: { message: 'overloaded' } }, { status: 503 })
const missing = json({ error: { message: 'not found' } }, { status: 404 })

/** Waits for the job at a server with these replies; time passes as soon as everything waits for it. The waits are in seconds. */
async function waited(
  replies: readonly ServerReply[],
  options: WaitOptions = {},
  more: { readonly job?: Job; readonly clock?: FakeClock } = {},
) {
  const server = await localServer(replies)
  const time = pollingTime(more.clock ?? fakeClock())
  const gateway = testGateway(server.url, { clock: time.clock })
  const reports: JobReport[] = []
  const failed: FailedLookUp[] = []
  const wait = waitForJob(gateway, more.job ?? job, {
    goOn,
    onReport: (report) => void reports.push(report),
    onFailedLookUp: (failure) => void failed.push(failure),
    ...options,
  })
  await advanceUntilSettled(time.clock, 1_000, wait, () => server.isEndless)
  const outcome = await settled(wait)
  expect(gateway.clock.pendingTimers).toBe(0)
  return { server, outcome, reports, failed, waits: time.waits }
}

test('looks at once, then less and less often, until the job is completed', async () => {
  const shown = [10, '30%', 50, 70, 80, 90].map((progress) => running(progress))
  const { outcome, reports, waits } = await waited([status('queued'), ...shown, completed])
  expect(outcome).toMatchObject({ id, state: 'completed', progress: 100 })
  expect(reports.map(({ progress }) => progress)).toEqual([null, 10, 30, 50, 70, 80, 90, 100])
  // Chance is one half on this clock: no jitter.
  expect(waits).toEqual([2, 3, 4.5, 6.75, 10.125, 15, 15])
})

test('a first report spares a look-up', async () => {
  const first = (await waited([completed])).outcome as JobReport
  expect((await waited([], { first })).outcome).toEqual(first)
  const { outcome, waits } = await waited([completed], { first: { ...first, state: 'pending' } })
  expect(outcome).toMatchObject({ state: 'completed' })
  expect(waits).toEqual([2])
})

test('progress that goes back is not shown', async () => {
  const { reports } = await waited([running(40), running(20), running(), running(-5), running(41), completed])
  expect(reports.map(({ progress }) => progress)).toEqual([40, 40, 40, 40, 41, 100])
  expect(reports[1]!.value['progress']).toBe(20)
})

test.for<[what: string, waits: readonly number[], options: WaitOptions, chance?: number]>([
  ['a tenth less', [1.8, 2.61], {}, 0],
  ['a tenth more', [2.2, 3.41], {}, 0.999_999],
  ['never less than the shortest wait', [0.1, 0.135], { firstWaitS: 0.1 }, 0],
  ['as short as was asked for', [0.1, 0.15], { firstWaitS: 0.1 }],
  ['no shorter than the shortest', [0.1, 0.15], { firstWaitS: -1 }],
  ['up to the longest', [10, 15], { firstWaitS: 10 }],
  ['as long as was asked for', [60, 60], { firstWaitS: 60 }],
])('how long is waited: %s', async ([, expected, options, chance = 0.5]) => {
  const clock = fakeClock({ random: () => chance })
  const { waits } = await waited([running(), running(), completed], options, { clock })
  expect(waits.map((seconds) => Math.round(seconds * 1000) / 1000)).toEqual(expected)
})

test('as long as a busy gateway asks for is waited', async () => {
  const asked = json({}, { status: 429, headers: { 'retry-after': '33' } })
  const { waits, failed } = await waited([asked, completed])
  expect(waits).toEqual([33])
  const reason = expect.stringContaining('429') as string
  expect(failed).toEqual([{ attempt: 1, wait_s: 33, http_status: 429, reason }])
})

const cutReply = [readAll, write('HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{"id": "'), end]

test.for<[string, ServerReply]>([
  ['HTTP 503', busy],
  ['HTTP 520', json({}, { status: 520 })],
  ['a lost connection', [readAll, reset]],
  ['a reply that is cut', cutReply],
  ['the page of a proxy', text('<html><title>Just a moment</title></html>')],
  ['nothing', text('')],
  ['an error without a job', json({ error: { message: 'try again' } })],
])('after %s the job is looked up again', async ([, reply]) => {
  const { outcome, failed, waits } = await waited([reply, running(), reply, completed])
  expect(outcome).toMatchObject({ state: 'completed' })
  expect(failed.map(({ attempt }) => attempt)).toEqual([1, 1])
  expect(waits).toEqual([2, 3, 4.5])
})

test.for([
  ['of a job of others', false, 5, 'no'],
  ['of an own job', true, 11, 'yes'],
] as const)('ten look-ups %s that fail in a row end the wait', async ([, isOwn, exitCode, billed]) => {
  const { outcome, failed } = await waited(Array<ServerReply>(10).fill(busy), { isOwn })
  expect(outcome).toMatchObject({
    exitCode,
    code: 'http_503',
    message: expect.stringContaining('Looking up the job failed 10 times in a row') as string,
    facts: { remoteId: id, billed, ...goOn, httpStatus: 503 },
  })
  expect(failed).toHaveLength(9)
})

test.for<[string, ServerReply, object]>([
  ['a refused key', json({}, { status: 403 }), { exitCode: 3 }],
  ['an unknown job', missing, { exitCode: 4, code: 'no_such_job' }],
  ['another job', json({ id: 'video_2', status: 'completed' }), { exitCode: 8, code: 'other_job' }],
  [
    'a redirect to another host',
    text('', { status: 302, headers: { location: 'https://elsewhere.test' } }),
    { exitCode: 8 },
  ],
])('%s ends the wait at once', async ([, reply, error]) => {
  expect((await waited([running(), reply])).outcome).toMatchObject(error)
})

const withCertificates = { skip: !canMakeCertificates }

test('a certificate that nobody trusts ends the wait at once (needs openssl)', withCertificates, async () => {
  const server = await localServer([[]], { tls: makeCertificate(), verify: false })
  // Not 6, which would allow to pay for the job once more.
  const hint = expect.stringContaining(goOn.hint) as string
  expect(await settled(waitForJob(testGateway(server.url), job, { goOn }))).toMatchObject({
    exitCode: 5,
    code: 'not_sent_certificate',
    facts: { remoteId: id, billed: 'no', hint, next: goOn.next },
  })
})

test('a gateway that cannot be asked for operations ends the wait at once', async () => {
  const replies = [json({}, { status: 501 }), missing]
  const { outcome } = await waited(replies, {}, { job: { kind: 'operation', id: operationName } })
  expect(outcome).toMatchObject({ exitCode: 4, code: 'no_such_job', facts: { billed: 'yes' } })
})

test.for<[string, readonly ServerReply[], number]>([
  ['is given up the fourth time', [missing, missing, missing, missing], 3],
  ['and was known since is known no more', [running(), missing], 0],
])('a job that was started a moment ago %s', async ([, replies, failures]) => {
  const { outcome, failed } = await waited(replies, {
    first: read({ id, status: 'queued' }, { kind: 'video' }),
  })
  expect(outcome).toMatchObject({ exitCode: 4, code: 'no_such_job', facts: { billed: 'yes' } })
  expect(failed).toHaveLength(failures)
})

test.for<[string, readonly ServerReply[], number, object]>([
  [
    'between two look-ups',
    [running(10), running(20)],
    4_000,
    { code: 'still_running', message: 'The job is still in_progress (20%) after 4 s.' },
  ],
  ['in a look-up', [running(10), [readAll, stall]], 4_000, {}],
  ['before the first look-up', [], 0, {}],
])('at its deadline, the wait ends and the job goes on: %s', async ([, replies, deadlineMs, more]) => {
  const clock = fakeClock()
  const { outcome } = await waited(replies, { deadlineMs }, { clock })
  expect(outcome).toMatchObject({ exitCode: 11, facts: { remoteId: id, billed: 'yes', ...goOn }, ...more })
  expect(clock.monotonic()).toBeLessThanOrEqual(deadlineMs + 1_000)
})

test('a wall clock that jumps changes nothing', async () => {
  const clock = fakeClock()
  let jump = 0
  const jumping: FakeClock = Object.assign(Object.create(clock) as FakeClock, {
    now: () => clock.now() + (jump += 86_400_000 * (jump > 0 ? -2 : 1)),
  })
  const { waits } = await waited([running(), running(), completed], {}, { clock: jumping })
  expect(waits).toEqual([2, 3])
})

/** A clock whose first sleep takes an hour. */
function sleepyClock(): FakeClock {
  const clock = fakeClock()
  let slept = false
  return Object.assign(Object.create(clock) as FakeClock, {
    timer(ms: number, callback: () => void, label?: 'sleep') {
      const isFirst = !slept && label === 'sleep'
      if (isFirst) slept = true
      return clock.timer(isFirst ? 3_600_000 : ms, callback, label)
    },
  })
}

test.for<[string, readonly ServerReply[], number | undefined, object]>([
  ['looks at once, even when its time is over', [running(10), completed], 10_000, { state: 'completed' }],
  [
    'ends when the job is still running',
    [running(10), running(20)],
    10_000,
    { exitCode: 11, message: 'The job is still in_progress (20%) after 3600 s.' },
  ],
  ['counts no time asleep as failures', [busy, busy, completed], undefined, { state: 'completed' }],
])('a machine that was asleep %s', async ([, replies, deadlineMs, expected]) => {
  const clock = sleepyClock()
  const { outcome } = await waited(replies, deadlineMs === undefined ? {} : { deadlineMs }, { clock })
  expect(outcome).toMatchObject(expected)
  expect(clock.monotonic()).toBeGreaterThanOrEqual(3_600_000)
})

test.for<[string, ServerReply, 'interrupt' | 'terminate', number]>([
  ['in a wait', running(), 'interrupt', 130],
  ['in a look-up', [readAll, stall], 'terminate', 143],
])('a signal %s', async ([, reply, signal, exitCode]) => {
  const { server, gateway } = await served([reply])
  let reported = false
  const onReport = () => void (reported = true)
  const wait = settled(waitForJob(gateway, job, { goOn, onReport }))
  await until(() => (reported ? gateway.clock.pendingTimers === 1 : server.isEndless))
  gateway.abort(new Interrupted(signal))
  const error = await wait
  expect(error).toBeInstanceOf(Interrupted)
  expect(error).toMatchObject({
    exitCode,
    facts: { remoteId: id, billed: 'yes', phase: 'wait', ...goOn },
  })
  expect(gateway.clock.pendingTimers).toBe(0)
})
