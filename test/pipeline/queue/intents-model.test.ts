import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { GenerationError, ModelgateError } from '../../../src/errors.ts'
import type { Intents } from '../../../src/pipeline/queue/intents.ts'
import { done, queueScene, ref, run, type QueueScene } from './queue-scene.ts'
import { runs } from '../../support/sample.ts'

const tasks = 4
const number = fc.integer({ min: 1, max: tasks })
const worker = fc.integer({ min: 0, max: 2 })
const errors: Readonly<Record<string, () => ModelgateError>> = {
  'a 429': () => new ModelgateError('later', 'rate_limited', '429', { httpStatus: 429, billed: 'no' }),
  'a 503': () => new ModelgateError('later', 'unavailable', '503', { httpStatus: 503, billed: 'no' }),
  'a lost reply': () => new ModelgateError('unknown', 'reply_lost', 'lost', { billed: 'maybe' }),
  'a refused prompt': () => new GenerationError('blocked', 'blocked', { billed: 'no' }),
  'a stop': () => new ModelgateError('interrupt', 'interrupted', 'Stopped.', { billed: 'maybe' }),
}
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('begin' as const), worker, number }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('result' as const), worker, number }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('error' as const),
      worker,
      number,
      error: fc.constantFrom(...Object.keys(errors)),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('job' as const), worker, number }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('time' as const), ms: fc.integer({ min: 0, max: 90_000 }) }),
  },
  // A worker that dies forgets what it was at; another one comes in its place.
  { weight: 1, arbitrary: fc.record({ type: fc.constant('die' as const), worker }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('submit' as const), number }) },
)

/** What does not hold, and must after each step, whatever came before. */
function problems(scene: QueueScene, sent: ReadonlyMap<number, number>, isSentAgain: boolean): string[] {
  const { used, inFlight } = scene.document(`run:${run}`) as {
    used: { creates: number }
    inFlight: Record<string, number>
  }
  const lanes = (scene.document('lanes') as { lanes?: Record<string, { inFlight: number }> }).lanes
  const states = Array.from({ length: tasks }, (_, at) => scene.task(at + 1))
  const places = states.filter(({ place }) => place !== null).length
  const found: string[] = []
  if (inFlight['text'] !== places) found.push(`the run counts ${inFlight['text']} places of ${places}`)
  if ((lanes?.['text']?.inFlight ?? 0) !== places) found.push(`the lane does not count ${places} places`)
  if (used.creates > 3) found.push(`${used.creates} were created of 3`)
  for (const [at, { state, place }] of states.entries()) {
    const isUnderWay = state === 'sent' || state === 'started'
    if ((place !== null) !== isUnderWay) found.push(`task ${at + 1} is ${String(state)} with a wrong place`)
    const times = sent.get(at + 1) ?? 0
    if (!isSentAgain && times > 1) found.push(`task ${at + 1} was sent ${times} times`)
  }
  return found
}

test.each([false, true])(
  'places and budget always add up, and nothing of unknown outcome is sent twice (keys honoured: %s)',
  async (isSentAgain) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const scene = await queueScene({ creates: { value: 3, name: '--max-creates' }, jobs: 3 })
        const all = Array.from({ length: tasks }, () => ({}))
        await scene.submit(...all)
        let names = 0
        const start = () => ({
          intents: scene.worker(`worker-${names++}`, { isSentAgain }),
          at: new Set<number>(),
        })
        const workers: { intents: Intents; at: Set<number> }[] = [start(), start(), start()]
        // Requests of one task that may have been accepted, and whose outcome nobody knows.
        const sent = new Map<number, number>()
        for (const one of steps) {
          if (one.type === 'time') await scene.clock.advance(one.ms)
          else if (one.type === 'submit') await scene.submit(...all)
          else if (one.type === 'die') workers[one.worker] = start()
          else {
            const { intents, at } = workers[one.worker]!
            const task = ref(one.number)
            if (one.type === 'begin') {
              if (at.has(one.number)) continue
              const begun = await intents.begin(task)
              if (begun.kind === 'send') {
                at.add(one.number)
                sent.set(one.number, (sent.get(one.number) ?? 0) + 1)
              }
            } else if (at.has(one.number)) {
              if (one.type === 'job') await intents.started(task, { id: 'video_1', kind: 'video' })
              else {
                at.delete(one.number)
                const isAnswered = one.type === 'error' && /429|503|prompt/.test(one.error)
                const isStarted = scene.task(one.number)['state'] === 'started'
                if (isAnswered && !isStarted) sent.set(one.number, sent.get(one.number)! - 1)
                await intents.end(task, one.type === 'result' ? done : errors[one.error]!())
              }
            }
          }
          expect(problems(scene, sent, isSentAgain)).toEqual([])
        }
      }),
      runs(300),
    )
  },
)
