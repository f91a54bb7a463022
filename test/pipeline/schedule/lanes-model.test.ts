import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { ModelgateError } from '../../../src/errors.ts'
import { lanes as laneNames, type Lane } from '../../../src/pipeline/manifest/manifest.ts'
import { Lanes, type LaneEvent } from '../../../src/pipeline/schedule/lanes.ts'
import { fakeClock, type FakeClock } from '../../support/fake-clock.ts'
import { runs } from '../../support/sample.ts'

const later = (httpStatus: number, retryAfterS?: number) =>
  new ModelgateError('later', `http_${httpStatus}`, 'Later.', { httpStatus, retryAfterS, billed: 'no' })
const unreachable = () => new ModelgateError('notSent', 'not_sent', 'Not there.', { billed: 'no' })

/** What a gateway does about a request: after so many seconds it succeeds, or fails with an error. */
interface Reply {
  readonly tookS: number
  readonly error?: ModelgateError
}

/**
 * Runs jobs against a gateway that replies as `reply` says, until nothing is left, and checks with each request that no
 * more are under way than configured and that no lane sends before the gateway wants it to.
 */
async function simulate(
  jobs: readonly { readonly lane: Lane; readonly priority: number }[],
  reply: (request: number, clock: FakeClock) => Reply,
  concurrency: Readonly<Record<Lane, number>> = { text: 8, image: 4, video: 2 },
) {
  const clock = fakeClock()
  const allowed = { ...concurrency }
  const onChange = (event: LaneEvent) => {
    if (event.type === 'lane-change') allowed[event.lane] = event.concurrency
  }
  const lanes = new Lanes({ clock, concurrency, jobs: jobs.length, onChange })
  /** When each was sent, in milliseconds on the clock, as all times here. */
  const sends: number[] = []
  const underWay = { text: 0, image: 0, video: 0 }
  const notBefore = { text: 0, image: 0, video: 0 }
  const broken: string[] = []

  const send = async (lane: Lane) => {
    const at = clock.monotonic()
    if (at < notBefore[lane]) broken.push(`${lane} sent ${notBefore[lane] - at} ms too early`)
    const [most, configured] = [allowed[lane], concurrency[lane]]
    const current = ++underWay[lane]
    if (current > most || most > configured) broken.push(`${lane}: ${current} of ${most} of ${configured}`)
    const { tookS, error } = reply(sends.push(at) - 1, clock)
    await new Promise<void>((resolve) => clock.timer(tookS * 1000, resolve))
    underWay[lane]--
    if (error === undefined) return
    if (error.facts.httpStatus === 429) {
      const askedMs = (error.facts.retryAfterS ?? 0) * 1000
      notBefore[lane] = Math.max(notBefore[lane], clock.monotonic() + askedMs)
    }
    throw error
  }
  let left = jobs.length
  const runs = jobs.map(({ lane, priority }) =>
    lanes.run(lane, { priority, isFollowUp: false }, () => send(lane)).finally(() => left--),
  )
  const ends = Promise.allSettled(runs)
  while (left > 0) await clock.advance(60_000)
  const failed = (await ends).filter(({ status }) => status === 'rejected').length
  return { sends, broken, failed, pendingTimers: clock.pendingTimers }
}

const anyJob = fc.record({ lane: fc.constantFrom(...laneNames), priority: fc.nat(5) })
const anyError = fc.oneof(
  { weight: 4, arbitrary: fc.option(fc.nat(40), { nil: undefined }).map((wait) => later(429, wait)) },
  { weight: 1, arbitrary: fc.option(fc.nat(40), { nil: undefined }).map((wait) => later(503, wait)) },
  { weight: 1, arbitrary: fc.constant(unreachable()) },
)
const anyReply: fc.Arbitrary<Reply> = fc
  .record({ tookS: fc.nat(30), isOk: fc.integer({ min: 0, max: 3 }), error: anyError })
  .map(({ tookS, isOk, error }) => (isOk > 0 ? { tookS } : { tookS, error }))

test('whatever the gateway replies no lane sends too much or too early, and all ends', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyJob, { minLength: 1, maxLength: 40 }),
      fc.array(anyReply, { minLength: 1, maxLength: 60 }),
      async (jobs, replies) => {
        // In the end the gateway is well: otherwise there would be no end.
        const found = await simulate(jobs, (request) => replies[request] ?? { tookS: 1 })
        expect([found.broken, found.pendingTimers]).toEqual([[], 0])
      },
    ),
    runs(150),
  )
})

test('429s alone fail nothing', async () => {
  const anyRefusal = fc.option(fc.nat(20), { nil: undefined }).map((wait) => later(429, wait))
  const refusalOrNot = anyRefusal.map((error): Reply => ({ tookS: 1, error }))
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyJob, { minLength: 1, maxLength: 30 }),
      fc.array(fc.oneof({ weight: 5, arbitrary: refusalOrNot }, fc.constant({ tookS: 1 })), {
        maxLength: 80,
      }),
      async (jobs, replies) => {
        const { failed, broken } = await simulate(jobs, (request) => replies[request] ?? { tookS: 1 })
        expect([failed, broken]).toEqual([0, []])
      },
    ),
    runs(100),
  )
})

test.each([undefined, 2])(
  'a gateway that refuses three of ten requests gets at most 1.6 a job (asks for %s s)',
  async (waitS) => {
    const jobs = Array.from({ length: 400 }, () => ({ lane: 'image', priority: 1 }) as const)
    // Spread, but always the same.
    const isRefused = (request: number) => (request * 0.618_033_988_75) % 1 < 0.3
    const { sends, failed, broken } = await simulate(jobs, (request) =>
      isRefused(request) ? { tookS: 0.1, error: later(429, waitS) } : { tookS: 3 },
    )
    expect([failed, broken]).toEqual([0, []])
    expect(sends.length).toBeLessThanOrEqual(640)
  },
)

/** A gateway that cannot be reached for a minute from a time on. */
const outage = (fromS: number) => (request: number, clock: FakeClock) => {
  const nowS = clock.monotonic() / 1000
  if (nowS >= fromS && nowS < fromS + 60) return { tookS: 0.01, error: unreachable() }
  return { tookS: 2 + (request % 5) }
}

test.each([1, 2, 5, 14, 15, 60, 300])('an outage of a minute, %s jobs: all are done', async (count) => {
  const jobs = Array.from({ length: count }, (_, index) => ({ lane: laneNames[index % 3]!, priority: 1 }))
  for (const fromS of [0, 3, 11]) {
    const { failed, broken, sends } = await simulate(jobs, outage(fromS))
    expect([failed, broken]).toEqual([0, []])
    const during = sends.filter((at) => at >= fromS * 1000 && at < (fromS + 60) * 1000)
    // What was under way when it began, and four probes.
    expect(during.length).toBeLessThanOrEqual(14 + 5 + 4)
  }
})
