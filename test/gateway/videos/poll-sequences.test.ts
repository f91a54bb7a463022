import * as fc from 'fast-check'
import { lookUpFailures } from '../../../src/gateway/videos/look-up-job.ts'
import { expect, test } from 'vitest'
import { ModelgateError } from '../../../src/errors.ts'
import type { JobReport } from '../../../src/gateway/videos/job-fields.ts'
import { waitForJob } from '../../../src/gateway/videos/wait-for-job.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { localServer } from '../../support/local-server.ts'
import { end, json, readAll, reset, text, type ServerReply } from '../../support/server-replies.ts'
import { testGateway } from '../test-gateway.ts'
import { pollingTime } from './polling-time.ts'
import { runs } from '../../support/sample.ts'

const id = 'video_1'

/** One answer to a look-up, and what it means. */
interface Answer {
  readonly reply: ServerReply
  /** `goes on` and `fails` are followed by another look-up, the rest is how the wait ends. */
  readonly means: string
}

/** The same word as other gateways would write it. */
const spelled = (...words: readonly string[]) =>
  fc
    .tuple(
      fc.constantFrom(...words),
      fc.constantFrom('', ' ', '\t'),
      fc.constantFrom('_', '-', ' '),
      fc.nat(),
    )
    .map(([word, blank, joint, bits]) => {
      const mixed = [...word].map((letter, at) => ((bits >> (at % 30)) & 1 ? letter.toUpperCase() : letter))
      return blank + mixed.join('').replaceAll('_', joint) + blank
    })

const anyProgress = fc.oneof(
  fc.constantFrom<unknown>(null, '', '45%', '45', '101 %', 'half', true, [], [50], {}, { of: 3 }),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.string(),
)

const hint = fc
  .tuple(
    fc.constantFrom('retry-after', 'retry-after-ms', 'openai-poll-after-ms'),
    fc.oneof(
      fc.constantFrom('0', '-1', '-1e9', 'NaN', 'Infinity', '1e400', 'soon', '""', '0.001', '0x10'),
      fc.constantFrom('86400', '999999999999999', '99999999999999999999'),
      fc.constantFrom('Thu, 01 Jan 1970 00:00:00 GMT', 'Fri, 31 Dec 2999 23:59:59 GMT', 'Thu, 99 Foo 2026'),
      fc.nat({ max: 200_000 }).map(String),
    ),
  )
  .map(([name, value]) => ({ [name]: value }))
const hints = fc.oneof({ weight: 2, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: hint })

const report = (word: fc.Arbitrary<unknown>, means: string): fc.Arbitrary<Answer> =>
  fc
    .tuple(word, anyProgress, hints, fc.constantFrom('status', 'state', 'task_status'), fc.boolean())
    .map(([status, progress, headers, name, isWrapped]) => {
      const video = { id, [name]: status, progress }
      return { means, reply: json(isWrapped ? { code: 0, data: video } : video, { headers }) }
    })

const goesOn = fc.oneof(
  report(spelled('queued', 'pending', 'not_start', 'submitted', 'in_progress', 'processing'), 'goes on'),
  report(fc.constantFrom('unknown', 'baking', '__proto__', null, ''), 'goes on'),
  hints.map((headers) => ({
    means: 'goes on',
    reply: json({ progress: 3, status: 'pending' }, { status: 202, headers }),
  })),
)

const fails: fc.Arbitrary<Answer> = fc
  .oneof(
    fc
      .tuple(fc.constantFrom(408, 425, 429, 500, 502, 503, 504, 520, 524, 529), hints)
      .map(([status, headers]) => json({ error: { message: 'busy' } }, { status, headers })),
    fc.constantFrom<ServerReply>(
      [readAll, reset],
      [readAll, end],
      text('<html><title>Just a moment</title></html>', { status: 502 }),
      text('<html><title>Just a moment</title></html>'),
      text(`{"id": "${id}", "status": "comp`),
      text('upstream saturated'),
      text(''),
      text('null'),
      json({ error: { message: 'try again' } }),
    ),
  )
  .map((reply) => ({ means: 'fails', reply }))

const ends = fc.oneof(
  report(spelled('completed', 'succeeded', 'success', 'done', 'finished'), 'completed'),
  report(spelled('failed', 'failure', 'cancelled', 'expired', 'error'), 'failed'),
  fc.constantFrom<Answer>(
    { means: '3 key_refused', reply: json({}, { status: 401 }) },
    { means: '3 key_refused', reply: json({}, { status: 403 }) },
    { means: '4 no_such_job', reply: json({}, { status: 404 }) },
    { means: '4 no_such_job', reply: json({ code: 'task_not_exist', message: 'x' }, { status: 400 }) },
    {
      means: '8 reply_not_understood',
      reply: text('', { status: 302, headers: { location: 'https://elsewhere.test/login' } }),
    },
    { means: '8 other_job', reply: json({ id: 'video_2', status: 'completed' }) },
  ),
)

const sequence = fc
  .tuple(
    fc.array(
      fc.oneof(
        { weight: 3, arbitrary: goesOn.map((answer) => [answer]) },
        { weight: 2, arbitrary: fc.array(fails, { minLength: 1, maxLength: 11 }) },
      ),
      { maxLength: 4 },
    ),
    ends,
  )
  .map(([middle, last]) => [...middle.flat(), last])

/** How a wait should end that is answered so, and after how many look-ups. */
function expected(
  answers: readonly Answer[],
  waits: readonly number[],
  deadlineS: number,
): { readonly outcome: string; readonly lookUps: number } {
  let elapsedS = 0
  let failed = 0
  let failingSinceS = 0
  for (const [index, { means }] of answers.entries()) {
    if (means !== 'goes on' && means !== 'fails') return { outcome: means, lookUps: index + 1 }
    if (means === 'goes on') failed = 0
    else {
      if (failed++ === 0) failingSinceS = elapsedS
      const isLost = failed >= lookUpFailures.most || elapsedS - failingSinceS >= lookUpFailures.minutes * 60
      if (isLost) return { outcome: '5 after the last error', lookUps: index + 1 }
    }
    elapsedS += waits[index] ?? Number.NaN
    if (elapsedS > deadlineS - 1e-4) return { outcome: '11 still_running', lookUps: index + 1 }
  }
  throw new Error('a sequence has an end')
}

const options = fc.record({
  firstWaitS: fc.constantFrom(undefined, 0, 0.1, 5),
  deadlineS: fc.constantFrom(Infinity, Infinity, 3, 60, 500),
})

test('sequences of answers end as they should, with as few look-ups, and never without a pause', async () => {
  await fc.assert(
    fc.asyncProperty(
      sequence,
      options,
      fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true })),
      async (answers, { firstWaitS, deadlineS }, chance) => {
        const random = () => chance.next().value as number
        const time = pollingTime(fakeClock({ random }))
        const server = await localServer(
          answers.map(({ reply }) => reply),
          { verify: false },
        )
        const gateway = testGateway(server.url, { clock: time.clock })
        const wait = waitForJob(
          gateway,
          { kind: 'video', id },
          {
            firstWaitS,
            ...(deadlineS === Infinity ? {} : { deadlineMs: deadlineS * 1000 }),
          },
        )
        const outcome = (await wait.then(stateOf, problemOf)).replace(/^5 .*/, '5 after the last error')
        const { outcome: right, lookUps } = expected(answers, time.waits, deadlineS)
        expect(outcome).toBe(right)
        expect(server.requests).toHaveLength(lookUps)
        expect(time.waits).toHaveLength(right === '11 still_running' ? lookUps : lookUps - 1)
        expect(time.waits.filter((waitS) => !(waitS > 0 && waitS <= 120))).toEqual([])
        // What is left of the time may be shorter than any wait.
        expect(time.waits.slice(0, lookUps - 1).filter((waitS) => waitS < 0.1)).toEqual([])
        expect(time.clock.pendingTimers).toBe(0)
      },
    ),
    runs(500),
  )
})

function stateOf({ state }: JobReport): string {
  return state
}

function problemOf(error: unknown): string {
  if (!(error instanceof ModelgateError)) throw error
  return `${error.exitCode} ${error.code}`
}
