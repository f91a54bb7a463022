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
}

function testLanes({ concurrency, jobs = 10, deadline }: Settings = {}) {
  const clock = fakeClock()
  const events: LaneEvent[] = []
  const lanes = new Lanes({
    clock,
    concurrency: { text: 8, image: 4, video: 2, ...concurrency },
    jobs,
    deadline,
    onChange: (event) => events.push(event),
  })
  return { clock, lanes, events }
}

/** A request that ends when the test says so. */
interface Sent {
  readonly name: string
  readonly attempt: number
  /** Seconds on the clock. */
  readonly at: number
  succeed(): void
  fail(error: unknown): void
}

/** Sends requests whose ends the test decides, and keeps what was sent and what came of it. */
async function started(first: readonly string[], settings: Settings = {}) {
  const set = testLanes(settings)
  const { lanes, clock } = set
  const sent: Sent[] = []
  const ends = new Map<string, unknown>()
  const settle = () => clock.advance(0)
  const add = (name: string, { lane = 'text', priority = 1, isFollowUp = false }: Order = {}) => {
    const run = lanes.run(lane, { priority, isFollowUp }, (attempt) => {
      const { promise, resolve, reject } = Promise.withResolvers<string>()
      const succeed = () => resolve(`${name} done`)
      sent.push({ name, attempt, at: clock.monotonic() / 1000, succeed, fail: reject })
      return promise
    })
    run.then(
      (value) => ends.set(name, value),
      (error: unknown) => ends.set(name, error),
    )
  }
  /** Lets the last attempts of these end, and what follows from that happen. */
  const end = async (names: readonly string[], error?: unknown) => {
    for (const name of names) {
      const last = sent.findLast((request) => request.name === name)!
      if (error === undefined) last.succeed()
      else last.fail(error)
    }
    await settle()
  }
  for (const name of first) add(name)
  await settle()
  return { ...set, sent, ends, add, end, names: () => sent.map(({ name }) => name), settle }
}

interface Order {
  readonly lane?: Lane
  readonly priority?: number
  readonly isFollowUp?: boolean
}

const failed = (exit: ExitName, code: ErrorCode, facts: ErrorFacts = {}) =>
  new ModelgateError(exit, code, 'The gateway says no.', { billed: 'no', ...facts })
const tooMany = (retryAfterS?: number) => failed('later', 'http_429', { httpStatus: 429, retryAfterS })
const overloaded = (retryAfterS?: number) => failed('later', 'http_503', { httpStatus: 503, retryAfterS })
const unreachable = failed('notSent', 'not_sent', { phase: 'connect' })

type LaneSet = Pick<ReturnType<typeof testLanes>, 'events'>

/** As the last change of it tells. */
const concurrencyOf = ({ events }: LaneSet) =>
  events.findLast((event) => event.type === 'lane-change')?.concurrency
const isOutage = ({ events }: LaneSet) =>
  events.findLast((event) => event.type === 'circuit-change')?.open ?? false

describe('places', () => {
  test('each lane has its own; whoever ends makes room for the next one of the lane', async () => {
    const set = await started([], { concurrency: { image: 2, video: 1 } })
    for (const name of ['a', 'b', 'c']) set.add(name, { lane: 'image' })
    for (const name of ['v', 'w']) set.add(name, { lane: 'video' })
    await set.settle()
    expect(set.names()).toEqual(['a', 'b', 'v'])
    expect(set.lanes.inFlight).toBe(3)
    await set.end(['b'])
    expect(set.names()).toEqual(['a', 'b', 'v', 'c'])
    expect([...set.ends]).toEqual([['b', 'b done']])
  })

  test('follow-ups come first, then the longest path, then who came first', async () => {
    const set = await started([], { concurrency: { text: 1 } })
    set.add('short', { priority: 1 })
    set.add('long', { priority: 9 })
    set.add('as long', { priority: 9 })
    set.add('download', { priority: 1, isFollowUp: true })
    set.add('longest', { priority: 10 })
    await set.settle()
    for (const name of ['download', 'longest', 'long', 'as long', 'short']) await set.end([name])
    expect(set.names()).toEqual(['download', 'longest', 'long', 'as long', 'short'])
  })

  test('a failure that is final goes to the caller, and makes room, too', async () => {
    const set = await started([], { concurrency: { text: 1 } })
    const finals = [
      new GenerationError('content_refused', 'Blocked.'),
      failed('rejected', 'content_refused', { httpStatus: 429 }),
      failed('later', 'http_429', { httpStatus: 429, shouldRetry: false }),
      failed('unknown', 'connection_lost', { billed: 'maybe' }),
      failed('later', 'http_503', { billed: 'maybe' }),
      failed('notSent', 'not_sent_certificate'),
      new Error('a bug'),
    ]
    for (const [at] of finals.entries()) set.add(String(at))
    await set.settle()
    for (const [at, error] of finals.entries()) await set.end([String(at)], error)
    expect([...set.ends.values()]).toEqual(finals)
    expect(set.names()).toEqual(['0', '1', '2', '3', '4', '5', '6'])
  })

  test('what is rejected is sent again where the gateway says so, unless it may have cost something', async () => {
    const conflict = failed('rejected', 'http_409', { httpStatus: 409, shouldRetry: true })
    const lost = failed('unknown', 'http_500', { httpStatus: 500, billed: 'maybe', shouldRetry: true })
    const set = await started(['a', 'b'])
    await set.end(['a'], conflict)
    await set.end(['b'], lost)
    await set.clock.advance(500)
    expect(set.sent.map(({ name }) => name)).toEqual(['a', 'b', 'a'])
    expect(set.ends.get('b')).toBe(lost)
  })
})

describe('a 429', () => {
  test('pauses its lane for as long as the gateway says, and no other', async () => {
    const set = await started(['a', 'b', 'c'], { concurrency: { text: 2, image: 1 } })
    await set.end(['a'], tooMany(30))
    await set.end(['b'])
    set.add('i', { lane: 'image' })
    await set.settle()
    await set.clock.advance(29_999)
    expect(set.sent.map(({ name }) => name)).toEqual(['a', 'b', 'i'])
    await set.clock.advance(1)
    expect(set.sent.at(-1)).toMatchObject({ name: 'a', attempt: 2, at: 30 })
    expect(set.events).toEqual([
      {
        type: 'lane-change',
        lane: 'text',
        concurrency: 1,
        pause_s: 30,
        reason: 'the gateway asks for fewer requests (HTTP 429)',
      },
    ])
  })

  test('halves the concurrency once for all that were under way', async () => {
    const names = Array.from('abcdefgh')
    const set = await started(names, { concurrency: { text: 8 } })
    await set.end(names, tooMany(5))
    expect([set.lanes.inFlight, concurrencyOf(set)]).toEqual([0, 4])
    await set.clock.advance(5_000)
    expect(set.lanes.inFlight).toBe(4)
    await set.end(['a'], tooMany(5))
    expect(concurrencyOf(set)).toBe(2)
    await set.end(['b', 'c', 'd'], tooMany(5))
    expect(concurrencyOf(set)).toBe(2)
    await set.clock.advance(5_000)
    await set.end(['a', 'b'], tooMany(5))
    await set.clock.advance(5_000)
    await set.end(['a'], tooMany(5))
    expect(concurrencyOf(set)).toBe(1)
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
    set.add('b')
    await set.settle()
    const from = set.clock.monotonic() / 1000
    await set.end(['b'], tooMany())
    await set.clock.advance(10_000)
    expect(set.sent.at(-1)!.at - from).toBeCloseTo(0.375)
  })

  test('that asks for no time at all is not answered in a loop', async () => {
    const set = await started(['a'], { concurrency: { text: 1 } })
    await set.end(['a'], tooMany(0))
    await set.clock.advance(99)
    expect(set.sent).toHaveLength(1)
    await set.clock.advance(1)
    expect(set.sent).toHaveLength(2)
  })

  test('fails where the deadline comes before the end of the pause', async () => {
    const set = await started(['a', 'b'], { concurrency: { text: 1 }, deadline: 10_000 })
    const error = tooMany(10)
    await set.end(['a'], error)
    await set.settle()
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
    const concurrency = () => concurrencyOf(set)
    expect(concurrency()).toBe(1)
    for (const name of ['a', 'b', 'c']) await set.end([name])
    const one = async (index: number, error?: unknown) => {
      set.add(`n${index}`)
      await set.settle()
      await set.end([`n${index}`], error)
    }
    for (let index = 0; index < 16; index++) await one(index)
    expect(concurrency()).toBe(1)
    await one(16)
    expect(concurrency()).toBe(2)
    for (let index = 17; index < 37; index++) await one(index)
    expect(concurrency()).toBe(3)
    for (let index = 37; index < 90; index++) await one(index)
    expect(concurrency()).toBe(3)
    expect(set.events.map((event) => event.reason).slice(1)).toEqual([
      '20 requests in a row went well',
      '20 requests in a row went well',
    ])
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

  test('wait for as long as the gateway asks', async () => {
    const set = await started(['a'])
    await set.end(['a'], overloaded(40))
    await set.clock.advance(39_999)
    expect(set.sent).toHaveLength(1)
    await set.clock.advance(1)
    expect(set.sent).toHaveLength(2)
  })

  test('are thrown when the retries of the run are used up', async () => {
    const set = await started([], { jobs: 11 })
    for (let index = 0; index < 13; index++) {
      set.add(`n${index}`)
      await set.settle()
      await set.end([`n${index}`], unreachable)
      await set.clock.advance(1_000)
      await set.end([`n${index}`])
    }
    set.add('last')
    await set.settle()
    await set.end(['last'], unreachable)
    expect(set.ends.get('n12')).toBe('n12 done')
    expect(set.ends.get('last')).toBe(unreachable)
  })

  test('what has become a remote job meanwhile is a follow-up from then on', async () => {
    const { lanes, clock } = testLanes({ concurrency: { video: 1 } })
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
  const eight = Array.from('abcdefgh')

  test('five failures in a row stop all lanes but for a probe every 15 s, until one is answered', async () => {
    const set = await started([])
    for (const name of eight) set.add(name)
    for (const name of ['i', 'j']) set.add(name, { lane: 'image' })
    await set.settle()
    await set.end(eight.slice(0, 4), unreachable)
    expect(isOutage(set)).toBe(false)
    await set.end(eight.slice(4), unreachable)
    expect(isOutage(set)).toBe(true)
    // What was under way fails of the same outage.
    await set.end(['i', 'j'], unreachable)
    const before = set.sent.length
    await set.clock.advance(14_999)
    expect(set.sent).toHaveLength(before)
    await set.clock.advance(1)
    expect(set.names().slice(before)).toEqual(['a'])
    await set.clock.advance(60_000)
    expect(set.sent).toHaveLength(before + 1)
    await set.end(['a'], unreachable)
    await set.clock.advance(14_999)
    expect(set.sent).toHaveLength(before + 1)
    await set.clock.advance(1)
    expect(set.sent).toHaveLength(before + 2)
    await set.end([set.sent.at(-1)!.name])
    expect(isOutage(set)).toBe(false)
    for (const name of [...eight, 'i', 'j']) if (!set.ends.has(name)) await set.end([name])
    expect([...set.ends.keys()].sort()).toEqual([...eight, 'i', 'j'])
    expect(set.events).toEqual([
      {
        type: 'circuit-change',
        open: true,
        reason: 'The gateway says no. One request every 15 s tries again.',
      },
      { type: 'circuit-change', open: false, reason: 'the gateway answers again' },
    ])
  })

  test.each([
    [new GenerationError('content_refused', 'Blocked.'), false],
    [tooMany(1), false],
    [failed('rejected', 'http_400', { httpStatus: 400 }), false],
    [failed('unknown', 'http_500', { httpStatus: 500 }), true],
    [failed('io', 'no_space'), true],
  ])(
    'any answer says that it is over, not what says nothing of the gateway: $code',
    async (error, isOpen) => {
      const set = await started(eight)
      await set.end(eight, unreachable)
      await set.clock.advance(15_000)
      await set.end([set.sent.at(-1)!.name], error)
      expect(isOutage(set)).toBe(isOpen)
    },
  )

  test('an answer between failures means that there is none', async () => {
    const set = await started(eight)
    await set.end(eight.slice(0, 4), unreachable)
    await set.end(['e'])
    await set.end(eight.slice(5), unreachable)
    expect(isOutage(set)).toBe(false)
  })

  test('a probe comes no sooner than the gateway asks for', async () => {
    const set = await started(eight, { concurrency: { text: 5 } })
    await set.end(eight.slice(0, 5), unreachable)
    await set.clock.advance(15_000)
    await set.end([set.sent.at(-1)!.name], overloaded(40))
    await set.clock.advance(39_999)
    expect(set.sent).toHaveLength(6)
    await set.clock.advance(1)
    expect(set.sent).toHaveLength(7)
  })

  test('that lasts as long as the retries ends the run: nothing of the rest was sent', async () => {
    const set = await started(eight, { jobs: 10, concurrency: { text: 2 } })
    for (let ended = 0; set.ends.size < 8;) {
      const under = set.sent.slice(ended)
      ended = set.sent.length
      await set.end(
        under.map(({ name }) => name),
        unreachable,
      )
      await set.clock.advance(15_000)
    }
    expect(set.ends.size).toBe(8)
    expect(set.ends.get('h')).toMatchObject({
      exit: 'notSent',
      message: 'Not sent, because the gateway fails: The gateway says no.',
    })
    expect(set.clock.pendingTimers).toBe(0)
  })
})

describe('stopping', () => {
  test('whatever waits fails with the reason, and what is under way goes on', async () => {
    const set = await started(['a', 'b', 'c', 'd'], { concurrency: { text: 2 } })
    await set.end(['a'], overloaded())
    const reason = new Interrupted('interrupt')
    set.lanes.stop(reason)
    await set.settle()
    expect([...set.ends]).toEqual([
      ['a', reason],
      ['d', reason],
    ])
    await set.end(['b'])
    await set.end(['c'], tooMany(1))
    expect(set.ends.get('b')).toBe('b done')
    expect(set.ends.get('c')).toMatchObject({ code: 'http_429' })
    set.add('e')
    await set.clock.advance(60_000)
    expect(set.ends.get('e')).toBe(reason)
    expect(set.sent).toHaveLength(3)
    expect(set.clock.pendingTimers).toBe(0)
  })
})
