import { describe, expect, test } from 'vitest'
import {
  GenerationError,
  Interrupted,
  ModelgateError,
  type ErrorFacts,
  type ErrorCode,
  type ExitName,
} from '../../../src/errors.ts'
import type { Lane } from '../../../src/pipeline/manifest/manifest.ts'
import { Lanes, type LaneEvent } from '../../../src/pipeline/schedule/lanes.ts'
import { fakeClock } from '../../support/fake-clock.ts'

interface Settings {
  readonly concurrency?: Partial<Record<Lane, number>>
  readonly jobs?: number
  readonly deadline?: number
  readonly repeatsUnknown?: boolean
}

/** Sends requests whose ends the test decides, and keeps what was sent and what came of it. */
async function started(first: readonly string[], settings: Settings = {}) {
  const { concurrency, jobs = 10, deadline, repeatsUnknown = false } = settings
  const clock = fakeClock()
  const events: LaneEvent[] = []
  const lanes = new Lanes({
    clock,
    concurrency: { text: 8, image: 4, video: 2, ...concurrency },
    jobs,
    deadline,
    onChange: (event) => events.push(event),
  })
  /** Each ends when the test says so; times are seconds on the clock. */
  const sent: { name: string; attempt: number; at: number; end: PromiseWithResolvers<string> }[] = []
  const ends = new Map<string, unknown>()
  const add = async (name: string, lane: Lane = 'text', priority = 1, isFollowUp = false) => {
    const order = { priority, isFollowUp, repeatsUnknown }
    const run = lanes.run(lane, order, (attempt) => {
      const end = Promise.withResolvers<string>()
      sent.push({ name, attempt, at: clock.monotonic() / 1000, end })
      return end.promise
    })
    void run.catch((error: unknown) => error).then((found) => ends.set(name, found))
    await clock.advance(0)
  }
  /** Lets the last attempts of these end, and what follows from that happen. */
  const end = async (names: readonly string[], error?: unknown) => {
    for (const name of names) {
      const last = sent.findLast((request) => request.name === name)!
      if (error === undefined) last.end.resolve(`${name} done`)
      else last.end.reject(error)
    }
    await clock.advance(0)
  }
  for (const name of first) await add(name)
  return {
    clock,
    lanes,
    events,
    sent,
    ends,
    add,
    end,
    names: () => sent.map(({ name }) => name),
    /** Expects one more request after so long, and none before. */
    async sendsAfter(ms: number) {
      const before = sent.length
      await clock.advance(ms - 1)
      expect(sent).toHaveLength(before)
      await clock.advance(1)
      expect(sent).toHaveLength(before + 1)
      return sent.at(-1)!
    },
    /** As the last change of it tells. */
    concurrency: () => events.findLast((event) => event.type === 'lane-change')?.concurrency,
    isOutage: () => events.findLast((event) => event.type === 'circuit-change')?.open ?? false,
  }
}

const failed = (exit: ExitName, code: ErrorCode, facts: ErrorFacts = {}) =>
  new ModelgateError(exit, code, 'The gateway says no.', { billed: 'no', ...facts })
const tooMany = (retryAfterS?: number) => failed('later', 'http_429', { httpStatus: 429, retryAfterS })
const overloaded = (retryAfterS?: number) => failed('later', 'http_503', { httpStatus: 503, retryAfterS })
const unreachable = failed('notSent', 'not_sent', { phase: 'connect' })

const eight = Array.from('abcdefgh')

describe('places', () => {
  test('each lane has its own; whoever ends makes room for the next one of the lane', async () => {
    const set = await started([], { concurrency: { image: 2, video: 1 } })
    for (const name of ['a', 'b', 'c']) await set.add(name, 'image')
    for (const name of ['v', 'w']) await set.add(name, 'video')
    expect(set.names()).toEqual(['a', 'b', 'v'])
    expect(set.lanes.inFlight).toBe(3)
    await set.end(['b'])
    expect(set.names()).toEqual(['a', 'b', 'v', 'c'])
    expect([...set.ends]).toEqual([['b', 'b done']])
  })

  test('follow-ups come first, then the longest path, then who came first', async () => {
    const set = await started(['first'], { concurrency: { text: 1 } })
    await set.add('short', 'text', 1)
    await set.add('long', 'text', 9)
    await set.add('as long', 'text', 9)
    await set.add('download', 'text', 1, true)
    await set.add('longest', 'text', 10)
    const order = ['first', 'download', 'longest', 'long', 'as long', 'short']
    for (const name of order) await set.end([name])
    expect(set.names()).toEqual(order)
  })

  test('a failure that is final goes to the caller, and makes room, too', async () => {
    const finals = [
      new GenerationError('content_refused', 'Blocked.'),
      failed('rejected', 'content_refused', { httpStatus: 429 }),
      failed('later', 'http_429', { httpStatus: 429, shouldRetry: false }),
      failed('unknown', 'connection_lost', { billed: 'maybe' }),
      failed('later', 'http_503', { billed: 'maybe' }),
      failed('notSent', 'not_sent_certificate'),
      new Error('a bug'),
    ]
    const names = ['0', '1', '2', '3', '4', '5', '6']
    const set = await started(names, { concurrency: { text: 1 } })
    for (const [at, error] of finals.entries()) await set.end([names[at]!], error)
    expect([...set.ends.values()]).toEqual(finals)
    expect(set.names()).toEqual(names)
  })

  test('what is rejected is sent again where the gateway says so, unless it may have cost something', async () => {
    const conflict = failed('rejected', 'http_409', { httpStatus: 409, shouldRetry: true })
    const lost = failed('unknown', 'http_500', { httpStatus: 500, billed: 'maybe', shouldRetry: true })
    const set = await started(['a', 'b'])
    await set.end(['a'], conflict)
    await set.end(['b'], lost)
    await set.clock.advance(500)
    expect(set.names()).toEqual(['a', 'b', 'a'])
    expect(set.ends.get('b')).toBe(lost)
  })
})

describe('a 429', () => {
  test('pauses its lane for as long as the gateway says, and no other', async () => {
    const set = await started(['a', 'b', 'c'], { concurrency: { text: 2, image: 1 } })
    await set.end(['a'], tooMany(30))
    await set.end(['b'])
    await set.add('i', 'image')
    expect(set.names()).toEqual(['a', 'b', 'i'])
    expect(await set.sendsAfter(30_000)).toMatchObject({ name: 'a', attempt: 2, at: 30 })
    const reason = 'the gateway asks for fewer requests (HTTP 429)'
    expect(set.events).toEqual([{ type: 'lane-change', lane: 'text', concurrency: 1, pause_s: 30, reason }])
  })

  test('halves the concurrency once for all that were under way', async () => {
    const set = await started(eight)
    await set.end(eight, tooMany(5))
    expect([set.lanes.inFlight, set.concurrency()]).toEqual([0, 4])
    await set.clock.advance(5_000)
    expect(set.lanes.inFlight).toBe(4)
    await set.end(['a'], tooMany(5))
    expect(set.concurrency()).toBe(2)
    await set.end(['b', 'c', 'd'], tooMany(5))
    expect(set.concurrency()).toBe(2)
    await set.clock.advance(5_000)
    await set.end(['a', 'b'], tooMany(5))
    await set.clock.advance(5_000)
    await set.end(['a'], tooMany(5))
    expect(set.concurrency()).toBe(1)
  })

  test('that says nothing of a time pauses longer from burst to burst, until one goes well', async () => {
    const set = await started(['a'], { concurrency: { text: 1 } })
    for (let burst = 0; burst < 6; burst++) {
      await set.end(['a'], tooMany())
      await set.clock.advance(10_000)
    }
    expect(set.sent.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5, 6, 7])
    expect(set.sent.map(({ at }) => at % 10)).toEqual([0, 0.375, 0.75, 1.5, 3, 6, 6])
    await set.end(['a'])
    await set.add('b')
    await set.end(['b'], tooMany())
    expect((await set.sendsAfter(375)).name).toBe('b')
  })

  test.each([
    ['a 429 that asks for no time at all is not answered in a loop', tooMany(0), 100],
    ['another failure waits for as long as the gateway asks', overloaded(40), 40_000],
  ])('%s', async (_, error, ms) => {
    const set = await started(['a'])
    await set.end(['a'], error)
    expect((await set.sendsAfter(ms)).attempt).toBe(2)
  })

  test('fails where the deadline comes before the end of the pause', async () => {
    const set = await started(['a', 'b'], { concurrency: { text: 1 }, deadline: 10_000 })
    const error = tooMany(10)
    await set.end(['a'], error)
    expect(set.ends.get('a')).toBe(error)
    expect(set.ends.get('b')).toMatchObject({
      exit: 'later',
      code: 'deadline',
      message: 'The time limit for the whole run was reached (--timeout).',
    })
    expect(set.clock.pendingTimers).toBe(0)
  })

  test('twenty in a row that went well give one place back, up to what is configured', async () => {
    const set = await started(['a', 'b', 'c'], { concurrency: { text: 3 } })
    await set.end(['a', 'b', 'c'], tooMany(1))
    await set.clock.advance(1_000)
    expect(set.concurrency()).toBe(1)
    for (const name of ['a', 'b', 'c']) await set.end([name])
    const found: unknown[] = []
    for (const more of [16, 1, 20, 50]) {
      for (let index = 0; index < more; index++) {
        await set.add('n')
        await set.end(['n'])
      }
      found.push(set.concurrency())
    }
    expect(found).toEqual([1, 2, 3, 3])
    const reason = '20 requests in a row went well'
    expect(set.events.slice(1)).toMatchObject([{ reason }, { reason }])
  })
})

describe('other failures that cost nothing', () => {
  test('are tried again after a growing wait', async () => {
    const set = await started(['a'])
    for (let times = 0; times < 4; times++) {
      await set.end(['a'], times % 2 === 0 ? unreachable : overloaded())
      await set.clock.advance(20_000)
    }
    expect(set.sent.map(({ at }) => at % 20)).toEqual([0, 0.375, 0.75, 1.5, 3])
    await set.end(['a'])
    expect(set.ends.get('a')).toBe('a done')
  })

  test('are thrown when the retries of the run are used up', async () => {
    const set = await started([], { jobs: 11 })
    for (let index = 0; index < 13; index++) {
      await set.add(`n${index}`)
      await set.end([`n${index}`], unreachable)
      await set.clock.advance(1_000)
      await set.end([`n${index}`])
    }
    await set.add('last')
    await set.end(['last'], unreachable)
    expect(set.ends.get('n12')).toBe('n12 done')
    expect(set.ends.get('last')).toBe(unreachable)
  })

  test('what has become a remote job meanwhile is a follow-up from then on', async () => {
    const { lanes, clock } = await started([])
    const order = { priority: 1, isFollowUp: false }
    const run = lanes.run('video', order, async (attempt) => {
      order.isFollowUp = true
      if (attempt === 1) throw failed('later', 'connection_lost', { billed: 'no' })
      return attempt
    })
    await clock.advance(1_000)
    await expect(run).resolves.toBe(2)
  })
})

describe('an outage', () => {
  test('five failures in a row stop all lanes but for a probe every 15 s, until one is answered', async () => {
    const set = await started(eight)
    for (const name of ['i', 'j']) await set.add(name, 'image')
    await set.end(eight.slice(0, 4), unreachable)
    expect(set.isOutage()).toBe(false)
    await set.end(eight.slice(4), unreachable)
    expect(set.isOutage()).toBe(true)
    // What was under way fails of the same outage.
    await set.end(['i', 'j'], unreachable)
    expect((await set.sendsAfter(15_000)).name).toBe('a')
    const sent = set.sent.length
    await set.clock.advance(60_000)
    expect(set.sent).toHaveLength(sent)
    await set.end(['a'], unreachable)
    await set.end([(await set.sendsAfter(15_000)).name])
    expect(set.isOutage()).toBe(false)
    for (const name of [...eight, 'i', 'j']) if (!set.ends.has(name)) await set.end([name])
    expect([...set.ends.keys()].sort()).toEqual([...eight, 'i', 'j'])
    const reason = 'The gateway says no. One request every 15 s tries again.'
    expect(set.events).toEqual([
      { type: 'circuit-change', open: true, reason },
      { type: 'circuit-change', open: false, reason: 'the gateway answers again' },
    ])
  })

  test.each([
    [new GenerationError('content_refused', 'Blocked.'), false],
    [tooMany(1), false],
    [failed('rejected', 'http_400', { httpStatus: 400 }), false],
    [failed('unknown', 'http_500', { httpStatus: 500 }), true],
    [failed('io', 'no_space'), true],
  ])('any answer ends it, not what says nothing of the gateway: $code', async (error, isOpen) => {
    const set = await started(eight)
    await set.end(eight, unreachable)
    await set.end([(await set.sendsAfter(15_000)).name], error)
    expect(set.isOutage()).toBe(isOpen)
  })

  test('an answer between failures means that there is none', async () => {
    const set = await started(eight)
    await set.end(eight.slice(0, 4), unreachable)
    await set.end(['e'])
    await set.end(eight.slice(5), unreachable)
    expect(set.isOutage()).toBe(false)
  })

  test('a probe comes no sooner than the gateway asks for', async () => {
    const set = await started(eight, { concurrency: { text: 5 } })
    await set.end(eight.slice(0, 5), unreachable)
    await set.end([(await set.sendsAfter(15_000)).name], overloaded(40))
    expect((await set.sendsAfter(40_000)).attempt).toBeGreaterThan(1)
  })

  test.each([
    [unreachable, 'notSent'],
    [failed('unknown', 'connection_lost', { billed: 'maybe' }), 'later'],
  ])('that lasts as long as the retries ends the run: nothing of the rest was sent', async (error, exit) => {
    const set = await started(eight, { jobs: 10, concurrency: { text: 2 }, repeatsUnknown: true })
    for (let ended = 0; set.ends.size < 8;) {
      const under = set.names().slice(ended)
      ended = set.sent.length
      await set.end(under, error)
      await set.clock.advance(15_000)
    }
    expect(set.ends.get('h')).toMatchObject({
      exit,
      message: 'Not sent, because the gateway fails: The gateway says no.',
      facts: { billed: 'no' },
    })
    expect(set.clock.pendingTimers).toBe(0)
  })
})

test('when it is stopped whatever waits fails with the reason, and what is under way goes on', async () => {
  const set = await started(['a', 'b', 'c', 'd'], { concurrency: { text: 2 } })
  await set.end(['a'], overloaded())
  const reason = new Interrupted('interrupt')
  set.lanes.stop(reason)
  await set.clock.advance(0)
  expect([...set.ends]).toEqual([
    ['a', reason],
    ['d', reason],
  ])
  await set.end(['b'])
  await set.end(['c'], tooMany(1))
  expect(set.ends.get('b')).toBe('b done')
  expect(set.ends.get('c')).toMatchObject({ code: 'http_429' })
  await set.add('e')
  await set.clock.advance(60_000)
  expect(set.ends.get('e')).toBe(reason)
  expect(set.sent).toHaveLength(3)
  expect(set.clock.pendingTimers).toBe(0)
})
