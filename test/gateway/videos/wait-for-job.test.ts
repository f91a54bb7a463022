import { describe, expect, test } from 'vitest'
import { pollSeconds } from '../../../src/limits.ts'
import { Interrupted } from '../../../src/errors.ts'
import type { Job } from '../../../src/gateway/videos/look-up-job.ts'
import type { JobReport } from '../../../src/gateway/videos/job-fields.ts'
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
const goOn = {
  hint: 'Go on with: modelgate wait video_1',
  next: ['modelgate', 'wait', 'video_1'],
}

const status = (word: string, more: object = {}, headers: Record<string, string> = {}) =>
  json({ id, status: word, ...more }, { headers })
const running = (progress?: unknown) => status('in_progress', { progress })
const completed = status('completed', { progress: 100 })
const busy = json({ error: { message: 'overloaded' } }, { status: 503 })

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

describe('how long is waited', () => {
  test.for<[number, number, number]>([
    [0, 1.8, 2.61],
    [0.999999, 2.2, 3.41],
  ])('is a matter of chance within a tenth: %d', async ([chance, ...expected]) => {
    const clock = fakeClock({ random: () => chance })
    const { waits } = await waited([running(), running(), completed], {}, { clock })
    expect(waits.map((seconds) => Math.round(seconds * 1000) / 1000)).toEqual(expected)
  })

  test.for<[number, readonly number[]]>([
    [0.1, [0.1, 0.15, 0.225]],
    [-1, [0.1, 0.15, 0.225]],
    [10, [10, 15, 15]],
    [60, [60, 60, 60]],
  ])('can be set: %d', async ([firstWaitS, expected]) => {
    const { waits } = await waited([running(), running(), running(), completed], { firstWaitS })
    expect(waits).toEqual(expected)
  })

  test('is never less than the shortest wait, whatever chance says', async () => {
    const clock = fakeClock({ random: () => 0 })
    const { waits } = await waited([running(), completed], { firstWaitS: 0.1 }, { clock })
    expect(waits).toEqual([pollSeconds.min])
  })

  test('is what a busy gateway asks for', async () => {
    const asked = json({}, { status: 429, headers: { 'retry-after': '33' } })
    const { waits, failed } = await waited([asked, completed])
    expect(waits).toEqual([33])
    expect(failed).toEqual([
      { attempt: 1, waitS: 33, httpStatus: 429, reason: expect.stringContaining('429') as string },
    ])
  })
})

const cutReply = [readAll, write('HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{"id": "'), end]

describe('a look-up that fails does not fail the job', () => {
  test.for<[string, ServerReply]>([
    ['HTTP 503', busy],
    ['HTTP 520', json({}, { status: 520 })],
    ['a lost connection', [readAll, reset]],
    ['a reply that is cut', cutReply],
    ['the page of a proxy', text('<html><title>Just a moment</title></html>')],
    ['nothing', text('')],
    ['an error without a job', json({ error: { message: 'try again' } })],
  ])('after %s it is looked up again', async ([, reply]) => {
    const { outcome, failed, waits } = await waited([reply, running(), reply, completed])
    expect(outcome).toMatchObject({ state: 'completed' })
    expect(failed.map(({ attempt }) => attempt)).toEqual([1, 1])
    expect(waits).toEqual([2, 3, 4.5])
  })

  test('but ten in a row end the wait', async () => {
    const { outcome, failed } = await waited(Array<ServerReply>(10).fill(busy))
    expect(outcome).toMatchObject({
      exitCode: 5,
      code: 'http_503',
      message: expect.stringContaining('Looking up the job failed 10 times in a row') as string,
      facts: { remoteId: id, billed: 'no', ...goOn, httpStatus: 503 },
    })
    expect(failed).toHaveLength(9)
    const own = await waited(Array<ServerReply>(10).fill(busy), { isOwn: true })
    expect(own.outcome).toMatchObject({ exitCode: 11, code: 'http_503', facts: { billed: 'yes' } })
  })
})

test.for<[string, ServerReply, object]>([
  ['a refused key', json({}, { status: 403 }), { exitCode: 3 }],
  ['an unknown job', json({}, { status: 404 }), { exitCode: 4, code: 'no_such_job' }],
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
  expect(await settled(waitForJob(testGateway(server.url), job, { goOn }))).toMatchObject({
    exitCode: 5,
    code: 'not_sent_certificate',
    facts: {
      remoteId: id,
      billed: 'no',
      hint: expect.stringContaining(goOn.hint) as string,
      next: goOn.next,
    },
  })
})

test('a gateway that cannot be asked for operations ends the wait at once', async () => {
  const replies = [json({}, { status: 501 }), json({}, { status: 404 })]
  const { outcome } = await waited(replies, {}, { job: { kind: 'operation', id: operationName } })
  expect(outcome).toMatchObject({ exitCode: 4, code: 'no_such_job', facts: { billed: 'yes' } })
})

describe('a job that was started a moment ago', () => {
  const missing = json({ error: { message: 'not found' } }, { status: 404 })
  const first = read({ id, status: 'queued' }, { kind: 'video' })

  test('is given up the fourth time', async () => {
    const { outcome, failed } = await waited([missing, missing, missing, missing], { first })
    expect(outcome).toMatchObject({ exitCode: 4, code: 'no_such_job', facts: { billed: 'yes' } })
    expect(failed).toHaveLength(3)
  })

  test('and was known since is known no more', async () => {
    const { outcome } = await waited([running(), missing], { first })
    expect(outcome).toMatchObject({ exitCode: 4, code: 'no_such_job' })
  })
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

describe('clocks', () => {
  test('a wall clock that jumps changes nothing', async () => {
    const clock = fakeClock()
    let jump = 0
    const jumping: FakeClock = Object.assign(Object.create(clock) as FakeClock, {
      now: () => clock.now() + (jump += 86_400_000 * (jump > 0 ? -2 : 1)),
    })
    const { waits } = await waited([running(), running(), completed], {}, { clock: jumping })
    expect(waits).toEqual([2, 3])
  })

  test('a machine that was asleep looks at once, even when its time is over', async () => {
    const base = fakeClock()
    const replies = [running(10), completed]
    const { outcome } = await waited(replies, { deadlineMs: 10_000 }, { clock: sleepyClock(base) })
    expect(base.monotonic()).toBeGreaterThanOrEqual(3_600_000)
    expect(outcome).toMatchObject({ state: 'completed' })
  })

  test('and ends when the job is still running', async () => {
    const clock = sleepyClock(fakeClock())
    const { outcome, server } = await waited([running(10), running(20)], { deadlineMs: 10_000 }, { clock })
    expect(outcome).toMatchObject({ exitCode: 11, message: expect.stringContaining('(20%)') as string })
    expect(server.requests).toHaveLength(2)
  })

  test('time asleep is not counted as failures of the gateway', async () => {
    const clock = sleepyClock(fakeClock())
    const { outcome } = await waited([busy, busy, completed], {}, { clock })
    expect(outcome).toMatchObject({ state: 'completed' })
  })
})

/** The first sleep takes an hour. */
function sleepyClock(clock: FakeClock): FakeClock {
  let slept = false
  return Object.assign(Object.create(clock) as FakeClock, {
    timer(ms: number, callback: () => void, label?: 'sleep') {
      const isFirst = !slept && label === 'sleep'
      if (isFirst) slept = true
      return clock.timer(isFirst ? 3_600_000 : ms, callback, label)
    },
  })
}

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
