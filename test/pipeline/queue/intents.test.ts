import { describe, expect, test } from 'vitest'
import { GenerationError, ModelgateError } from '../../../src/errors.ts'
import { done, keyOf, queueScene, ref, run } from './queue-scene.ts'

const tooMany = (retryAfterS?: number) =>
  new ModelgateError('later', 'rate_limited', 'HTTP 429', { httpStatus: 429, retryAfterS, billed: 'no' })
const unavailable = () =>
  new ModelgateError('later', 'unavailable', 'HTTP 503', { httpStatus: 503, billed: 'no' })
const lost = () => new ModelgateError('unknown', 'reply_lost', 'The reply was lost.', { billed: 'maybe' })

test('the intent of a task is written before it may be sent, and its result ends it', async () => {
  const scene = await queueScene()
  await scene.submit({})
  const worker = scene.worker('a')
  expect(await worker.begin(ref(1))).toMatchObject({ kind: 'send', message: { version: 1 } })
  expect(scene.task(1)).toMatchObject({ state: 'sent', worker: 'a', isCounted: true })
  expect(scene.document(`run:${run}`)).toMatchObject({ used: { creates: 1 }, inFlight: { text: 1 } })
  expect(await worker.end(ref(1), done)).toBe(null)
  expect(scene.task(1)).toMatchObject({ state: 'done', outcome: done, place: null })
  expect(scene.document(`run:${run}`)).toMatchObject({ used: { creates: 1 }, inFlight: { text: 0 } })
  expect(scene.documents.all.has(`request:${keyOf(1)}`)).toBe(false)
  expect(await worker.begin(ref(1))).toEqual({ kind: 'over' })
})

test('what a living worker has begun is not for another one', async () => {
  const scene = await queueScene()
  await scene.submit({})
  const [one, other] = [scene.worker('one'), scene.worker('other')]
  await one.begin(ref(1))
  expect(await other.begin(ref(1))).toEqual({ kind: 'wait', ms: 60_000, isHeld: false })
  await scene.clock.advance(50_000)
  await one.beat()
  await scene.clock.advance(59_999)
  expect(await other.begin(ref(1))).toEqual({ kind: 'wait', ms: 1, isHeld: false })
})

test('a worker asks again after its answer was lost, and may send', async () => {
  const scene = await queueScene()
  await scene.submit({})
  const worker = scene.worker('a')
  await worker.begin(ref(1))
  expect(await worker.begin(ref(1))).toMatchObject({ kind: 'send' })
  expect(scene.document(`run:${run}`)).toMatchObject({ used: { creates: 1 }, inFlight: { text: 1 } })
})

test.each([
  ['without idempotency keys', false, 'stop', 'over', 'unknown', 1],
  ['where the gateway honours them', true, 'stop', 'send', 'sent', 1],
  ['with on_unknown: retry, which counts twice', false, 'retry', 'send', 'sent', 2],
] as const)('a worker that has died: %s', async (_, isSentAgain, onUnknown, kind, state, creates) => {
  const scene = await queueScene()
  await scene.submit({ onUnknown })
  await scene.worker('dead').begin(ref(1))
  await scene.clock.advance(60_000)
  expect(await scene.worker('heir', { isSentAgain }).begin(ref(1))).toMatchObject({ kind })
  expect(scene.task(1)).toMatchObject({ state })
  const inFlight = { text: kind === 'send' ? 1 : 0 }
  expect(scene.document(`run:${run}`)).toMatchObject({ used: { creates }, inFlight })
  expect(scene.document('lanes')).toMatchObject({
    lanes: { text: inFlight.text === 1 ? { inFlight: 1 } : {} },
  })
})

test('the result of a worker that was thought dead counts', async () => {
  const scene = await queueScene()
  await scene.submit({})
  const frozen = scene.worker('frozen')
  await frozen.begin(ref(1))
  await scene.clock.advance(60_000)
  await scene.worker('heir').begin(ref(1))
  expect(scene.task(1)).toMatchObject({ state: 'unknown' })
  await frozen.end(ref(1), done)
  expect(scene.task(1)).toMatchObject({ state: 'done', outcome: { kind: 'result' } })
})

test('an error of a worker that was thought dead does not count', async () => {
  const scene = await queueScene()
  await scene.submit({})
  const frozen = scene.worker('frozen')
  await frozen.begin(ref(1))
  await scene.clock.advance(60_000)
  await scene.worker('heir', { isSentAgain: true }).begin(ref(1))
  expect(await frozen.end(ref(1), new GenerationError('blocked', 'Blocked.'))).toBe(null)
  expect(scene.task(1)).toMatchObject({ state: 'sent', worker: 'heir' })
})

test('a remote job is looked up by whoever is there, and keeps its place until it ends', async () => {
  const scene = await queueScene()
  await scene.submit({ lane: 'video' })
  const worker = scene.worker('a')
  await worker.begin(ref(1))
  await worker.started(ref(1), { id: 'video_1', kind: 'video' })
  await worker.started(ref(1), { id: 'video_1', kind: 'video' })
  expect(scene.task(1)).toMatchObject({ state: 'started', job: { id: 'video_1' } })
  expect(scene.document('lanes')).toMatchObject({ lanes: { video: { inFlight: 1, clean: 1 } } })
  const other = scene.worker('b')
  expect(await other.begin(ref(1))).toMatchObject({ kind: 'poll', task: { job: { id: 'video_1' } } })
  await other.end(ref(1), done)
  expect(scene.document('lanes')).toMatchObject({ lanes: { video: { inFlight: 0, clean: 1 } } })
})

test('a failed look-up of a job is tried again, and the job is not lost with the retries', async () => {
  const scene = await queueScene({ jobs: 0 })
  await scene.submit({ lane: 'video' })
  const worker = scene.worker('a')
  await worker.begin(ref(1))
  await worker.started(ref(1), { id: 'video_1', kind: 'video' })
  const waits: (number | null)[] = []
  for (let count = 0; count < 11; count++) waits.push(await worker.end(ref(1), unavailable()))
  expect(waits.slice(0, 10).every((ms) => ms !== null && ms > 0)).toBe(true)
  expect(waits.at(-1)).toBe(null)
  expect(scene.task(1)).toMatchObject({ state: 'failed', job: { id: 'video_1' } })
  expect(await scene.submit({ lane: 'video' })).toEqual([
    { kind: 'waiting', attempt: 'attempt-1', isStarted: true },
  ])
  expect(scene.task(1)).toMatchObject({ state: 'started', outcome: null })
})

test('a bug in a look-up ends it for every worker, and the next run goes on with the job', async () => {
  const scene = await queueScene()
  await scene.submit({ lane: 'video' })
  const worker = scene.worker('a')
  await worker.begin(ref(1))
  await worker.started(ref(1), { id: 'video_1', kind: 'video' })
  const bug = new ModelgateError('bug', 'internal_error', 'This is a bug in modelgate: x')
  expect(await worker.end(ref(1), bug)).toBe(null)
  expect(scene.task(1)).toMatchObject({ state: 'failed', job: { id: 'video_1' }, place: null })
  expect(await scene.submit({ lane: 'video' })).toMatchObject([{ kind: 'waiting', isStarted: true }])
})

test('a 429 stops the lane for all workers, for as long as the gateway says', async () => {
  const scene = await queueScene()
  await scene.submit({}, {}, { lane: 'image' })
  const [one, other] = [scene.worker('one'), scene.worker('other')]
  await one.begin(ref(1))
  expect(await one.end(ref(1), tooMany(7))).toBe(0)
  expect(scene.task(1)).toMatchObject({ state: 'waiting', isCounted: false, worker: null })
  expect(scene.document(`run:${run}`)).toMatchObject({ used: { creates: 0 }, retries: { used: 0 } })
  const wait = await other.begin(ref(2))
  expect(wait).toMatchObject({ kind: 'wait', isHeld: true })
  expect((wait as { ms: number }).ms).toBeGreaterThanOrEqual(7000)
  expect(await other.begin(ref(3))).toMatchObject({ kind: 'send' })
})

test('a 429 halves what was under way', async () => {
  const scene = await queueScene()
  await scene.submit({}, {}, {}, {}, {})
  const worker = scene.worker('a')
  for (const number of [1, 2, 3, 4]) await worker.begin(ref(number))
  await worker.end(ref(1), tooMany())
  expect(scene.document('lanes')).toMatchObject({ lanes: { text: { concurrency: 2, inFlight: 3 } } })
  await scene.clock.advance(120_000)
  expect(await worker.begin(ref(5))).toEqual({ kind: 'wait', ms: 200, isHeld: true })
})

test('the lanes of the manifest hold for its run', async () => {
  const scene = await queueScene({ lanes: { text: 1, image: 1, video: 1 } })
  await scene.submit({}, {}, { lane: 'image' })
  await scene.worker('one').begin(ref(1))
  expect(await scene.worker('other').begin(ref(2))).toEqual({ kind: 'wait', ms: 200, isHeld: true })
  expect(await scene.worker('other').begin(ref(3))).toMatchObject({ kind: 'send' })
})

test('five failures in a row open the circuit for all workers, and one request probes', async () => {
  const scene = await queueScene()
  await scene.submit({}, {}, {}, {}, {}, {}, {})
  const worker = scene.worker('a')
  for (const number of [1, 2, 3, 4, 5]) {
    await worker.begin(ref(number))
    expect(await worker.end(ref(number), unavailable())).toBeGreaterThan(0)
  }
  const other = scene.worker('b')
  expect(await other.begin(ref(6))).toEqual({ kind: 'wait', ms: 15_000, isHeld: true })
  await scene.clock.advance(15_000)
  expect(await other.begin(ref(6))).toMatchObject({ kind: 'send' })
  expect(await other.begin(ref(7))).toEqual({ kind: 'wait', ms: 200, isHeld: true })
  await other.end(ref(6), done)
  expect(await other.begin(ref(7))).toMatchObject({ kind: 'send' })
})

test('the place of a probe whose worker died is given back', async () => {
  const scene = await queueScene()
  await scene.submit({}, {}, {}, {}, {}, {})
  const worker = scene.worker('a')
  for (const number of [1, 2, 3, 4, 5]) {
    await worker.begin(ref(number))
    await worker.end(ref(number), unavailable())
  }
  await scene.clock.advance(15_000)
  await scene.worker('dead').begin(ref(6))
  await scene.clock.advance(60_000)
  expect(await scene.worker('heir', { isSentAgain: true }).begin(ref(6))).toMatchObject({ kind: 'send' })
})

test('an outage that outlasts the retries ends what is left, unsent', async () => {
  const scene = await queueScene({ jobs: 0 })
  await scene.submit({}, {})
  const worker = scene.worker('a')
  let ms: number | null = 0
  for (let count = 0; ms !== null; count++) {
    expect(count).toBeLessThan(12)
    await scene.clock.advance(300_000)
    expect(await worker.begin(ref(1))).toMatchObject({ kind: 'send' })
    ms = await worker.end(ref(1), unavailable())
  }
  expect(await worker.begin(ref(2))).toEqual({ kind: 'over' })
  expect(scene.task(2)).toMatchObject({
    state: 'failed',
    outcome: { error: { exit: 'later', message: 'Not sent, because the gateway fails: HTTP 503' } },
  })
  expect(scene.document(`run:${run}`)).toMatchObject({ used: { creates: 0 } })
})

test('the budget of a run holds for all workers, and what was not created is given back', async () => {
  const scene = await queueScene({ creates: { value: 1, name: '--max-creates' } })
  await scene.submit({}, {}, {})
  const worker = scene.worker('a')
  await worker.begin(ref(1))
  await worker.end(
    ref(1),
    new ModelgateError('rejected', 'bad', 'HTTP 400', { httpStatus: 400, billed: 'no' }),
  )
  expect(await worker.begin(ref(2))).toMatchObject({ kind: 'send' })
  expect(await scene.worker('b').begin(ref(3))).toEqual({ kind: 'over' })
  expect(scene.task(3)).toMatchObject({
    state: 'failed',
    outcome: { error: { exit: 'limit', code: 'creations_limit' } },
  })
})

test('a lost reply stays unknown, and is not sent again', async () => {
  const scene = await queueScene()
  await scene.submit({})
  const worker = scene.worker('a')
  await worker.begin(ref(1))
  expect(await worker.end(ref(1), lost())).toBe(null)
  expect(scene.task(1)).toMatchObject({ state: 'unknown', outcome: { error: { code: 'reply_lost' } } })
  expect(scene.document(`run:${run}`)).toMatchObject({ used: { creates: 1 }, inFlight: { text: 0 } })
  expect(await scene.submit({})).toMatchObject([{ kind: 'ended', task: { state: 'unknown' } }])
})

test('a worker without a valid key gives the task back', async () => {
  const scene = await queueScene()
  await scene.submit({})
  const worker = scene.worker('a')
  await worker.begin(ref(1))
  const refused = new ModelgateError('key', 'key_refused', 'HTTP 401', { httpStatus: 401, billed: 'no' })
  expect(await worker.end(ref(1), refused)).toBe(0)
  expect(scene.task(1)).toMatchObject({ state: 'waiting', isCounted: false })
})

test.each([
  ['failed', 'no', 0],
  ['unknown', 'maybe', 1],
] as const)('a bug ends its task as %s, so that it stops no other worker', async (state, billed, creates) => {
  const scene = await queueScene()
  await scene.submit({ onUnknown: 'retry' })
  const worker = scene.worker('a')
  await worker.begin(ref(1))
  const bug = new ModelgateError('bug', 'internal_error', 'This is a bug in modelgate: x', { billed })
  expect(await worker.end(ref(1), bug)).toBe(null)
  expect(scene.task(1)).toMatchObject({ state, place: null, outcome: { kind: 'error' } })
  expect(scene.document(`run:${run}`)).toMatchObject({ used: { creates }, inFlight: { text: 0 } })
  expect(await scene.worker('b').begin(ref(1))).toEqual({ kind: 'over' })
})

test('what a stopped worker has cut is unknown, unless nothing was sent', async () => {
  const scene = await queueScene()
  await scene.submit({}, {})
  const worker = scene.worker('a')
  for (const number of [1, 2]) await worker.begin(ref(number))
  const cut = (billed: 'no' | 'maybe') =>
    new ModelgateError('interrupt', 'interrupted', 'Stopped.', { billed })
  expect(await worker.end(ref(1), cut('no'))).toBe(0)
  expect(await worker.end(ref(2), cut('maybe'))).toBe(null)
  expect(scene.task(1)).toMatchObject({ state: 'waiting' })
  expect(scene.task(2)).toMatchObject({ state: 'unknown' })
})

test('an end whose answer was lost is asked for once more', async () => {
  const scene = await queueScene()
  await scene.submit({}, {})
  const worker = scene.worker('a')
  for (const number of [1, 2]) await worker.begin(ref(number))
  const ms = await worker.end(ref(1), unavailable())
  expect(await worker.end(ref(1), unavailable())).toBe(ms)
  expect(scene.document(`run:${run}`)).toMatchObject({ retries: { used: 1 } })
})

describe('what the gateway says of sending a request again:', () => {
  const failed = (shouldRetry: boolean) =>
    new ModelgateError('unknown', 'http_500', 'HTTP 500', { httpStatus: 500, billed: 'maybe', shouldRetry })

  test.each([
    ['is not sent again, though it asks for that', 'stop', false, true],
    ['is not sent again where it forbids that', 'retry', false, false],
    ['nor where it would not cost again', 'stop', true, false],
  ] as const)('an unknown outcome %s', async (_, onUnknown, isSentAgain, shouldRetry) => {
    const scene = await queueScene()
    await scene.submit({ onUnknown, isSentAgain })
    const worker = scene.worker('a', { isSentAgain })
    await worker.begin(ref(1))
    expect(await worker.end(ref(1), failed(shouldRetry))).toBe(null)
    expect(scene.task(1)).toMatchObject({ state: 'unknown' })
    expect(scene.document(`run:${run}`)).toMatchObject({ used: { creates: 1 } })
  })

  test('a 429 that forbids it ends the task', async () => {
    const scene = await queueScene()
    await scene.submit({})
    const worker = scene.worker('a')
    await worker.begin(ref(1))
    expect(await worker.end(ref(1), tooMany().amend({ shouldRetry: false }))).toBe(null)
    expect(scene.task(1)).toMatchObject({ state: 'failed' })
  })
})

test('a request that was lost and may be repeated stays unknown when it cannot be', async () => {
  const scene = await queueScene({ jobs: 0 })
  await scene.submit({ onUnknown: 'retry' })
  const worker = scene.worker('a')
  await worker.begin(ref(1))
  for (let ms = await worker.end(ref(1), lost()); ms !== null;) {
    await scene.clock.advance(300_000)
    await worker.begin(ref(1))
    ms = await worker.end(ref(1), lost())
  }
  expect(scene.task(1)).toMatchObject({ state: 'unknown', outcome: { error: { code: 'reply_lost' } } })
})

test('a request that was lost and may be repeated stays unknown when a limit is in the way', async () => {
  const scene = await queueScene({ creates: { value: 1, name: '--max-creates' } })
  await scene.submit({ onUnknown: 'retry' })
  const worker = scene.worker('a')
  await worker.begin(ref(1))
  await scene.clock.advance((await worker.end(ref(1), lost()))!)
  expect(await worker.begin(ref(1))).toEqual({ kind: 'over' })
  expect(scene.task(1)).toMatchObject({
    state: 'unknown',
    outcome: { error: { exit: 'limit', facts: { billed: 'maybe' } } },
  })
})

test('a request that is refused after one was lost may have been accepted, and is sent again under its key', async () => {
  const scene = await queueScene({ jobs: 0 })
  await scene.submit({})
  const worker = scene.worker('a', { isSentAgain: true })
  await worker.begin(ref(1))
  let ms = await worker.end(ref(1), lost())
  for (let count = 0; ms !== null; count++) {
    expect(count).toBeLessThan(12)
    await scene.clock.advance(300_000)
    await worker.begin(ref(1))
    ms = await worker.end(ref(1), unavailable())
  }
  expect(scene.task(1)).toMatchObject({
    state: 'unknown',
    outcome: { error: { facts: { billed: 'maybe' } } },
  })
  expect(scene.document(`run:${run}`)).toMatchObject({ used: { creates: 1 } })
  expect(await scene.submit({ isSentAgain: true, attempt: 'another' })).toEqual([
    { kind: 'waiting', attempt: 'attempt-1', isStarted: false },
  ])
  expect(scene.task(1)).toMatchObject({ state: 'waiting', isCounted: true, mayBeThere: true })
})

test('a request that was lost stays unknown when the run gives up before it is sent again', async () => {
  const scene = await queueScene({ jobs: 0 })
  await scene.submit({}, {})
  const worker = scene.worker('a', { isSentAgain: true })
  await worker.begin(ref(2))
  expect(await worker.end(ref(2), lost())).toBeGreaterThan(0)
  for (let ms: number | null = 0; ms !== null;) {
    await scene.clock.advance(300_000)
    await worker.begin(ref(1))
    ms = await worker.end(ref(1), unavailable())
  }
  expect(await worker.begin(ref(2))).toEqual({ kind: 'over' })
  expect(scene.task(2)).toMatchObject({
    state: 'unknown',
    outcome: { error: { exit: 'later', facts: { billed: 'maybe' } } },
  })
  const again = await scene.submit({}, { isSentAgain: true, attempt: 'another' })
  expect(again[1]).toEqual({ kind: 'waiting', attempt: 'attempt-2', isStarted: false })
})

test.each([
  ['under another key may have been billed', false, 'maybe'],
  ['under the same key was not', true, 'no'],
] as const)(
  'a request that was lost, and whose repetition is rejected %s',
  async (_, isSentAgain, billed) => {
    const scene = await queueScene()
    await scene.submit({ onUnknown: 'retry' })
    const worker = scene.worker('a', { isSentAgain })
    await worker.begin(ref(1))
    await scene.clock.advance((await worker.end(ref(1), lost()))!)
    await worker.begin(ref(1))
    const rejected = new ModelgateError('rejected', 'bad_request', 'HTTP 400', {
      httpStatus: 400,
      billed: 'no',
    })
    expect(await worker.end(ref(1), rejected)).toBe(null)
    expect(scene.task(1)).toMatchObject({ state: 'failed', outcome: { error: { facts: { billed } } } })
  },
)

test('a request that was lost stays unknown when a bug is in the way', async () => {
  const scene = await queueScene()
  await scene.submit({})
  const worker = scene.worker('a', { isSentAgain: true })
  await worker.begin(ref(1))
  await scene.clock.advance((await worker.end(ref(1), lost()))!)
  await worker.begin(ref(1))
  const bug = new ModelgateError('bug', 'internal_error', 'This is a bug in modelgate: x', { billed: 'no' })
  expect(await worker.end(ref(1), bug)).toBe(null)
  expect(scene.task(1)).toMatchObject({
    state: 'unknown',
    outcome: { error: { exit: 'bug', facts: { billed: 'maybe' } } },
  })
})

test('the id of a job counts also where the outcome had become unknown', async () => {
  const scene = await queueScene()
  await scene.submit({ lane: 'video' })
  const frozen = scene.worker('frozen')
  await frozen.begin(ref(1))
  await scene.clock.advance(60_000)
  const heir = scene.worker('heir')
  await heir.begin(ref(1))
  expect(scene.task(1)).toMatchObject({ state: 'unknown' })
  const job = { id: 'video_1', kind: 'video' } as const
  await frozen.started(ref(1), job, { version: 1 })
  expect(scene.task(1)).toMatchObject({ state: 'started', job, outcome: null, place: null })
  expect(await heir.begin(ref(1))).toMatchObject({ kind: 'poll', message: { version: 1 } })
})
