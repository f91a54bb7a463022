import type { Clock } from '../../context.ts'
import { namedEvent, type Frame } from '../http/reply.ts'
import { type JsonObject, textOf } from '../json-value.ts'
import { pick, seededRandom, type Random } from '../seeded-random.ts'
import { itemEvents } from './item-events.ts'
import type { ResponsePlan } from './plan-response.ts'
import type { Timing } from './response-store.ts'

const terminals = new Set(['response.completed', 'response.incomplete', 'response.failed'])

/** Deltas before generation breaks off in the scenario `error`. */
const deltasBeforeError = 5

/** The whole stream of a response (wire notes, section 2, "Event types"). */
export function* responseEvents(plan: ResponsePlan): Generator<JsonObject> {
  const { body, begun } = plan
  const isQueued = body['background'] === true
  // First in either case: the official client begins with it.
  yield { type: 'response.created', response: { ...begun, status: isQueued ? 'queued' : 'in_progress' } }
  if (isQueued) yield { type: 'response.queued', response: { ...begun, status: 'queued' } }
  yield { type: 'response.in_progress', response: { ...begun, status: 'in_progress' } }
  let deltas = 0
  for (const [index, item] of plan.items.entries()) {
    for (const event of itemEvents(item, index)) {
      if (plan.breaksOff && textOf(event['type']).endsWith('.delta') && ++deltas > deltasBeforeError) {
        yield* breakOffEvents(plan)
        return
      }
      yield event
    }
  }
  if (plan.breaksOff) yield* breakOffEvents(plan)
  else yield { type: `response.${textOf(plan.final['status'])}`, response: plan.final }
}

/**
 * As recorded: an `error` event with a nested error, immediately followed by the failed response. The documented fields
 * of that event are there, too.
 */
export function breakOffEvents({ begun }: ResponsePlan): readonly JsonObject[] {
  const problem = { code: 'server_error', message: '[sandbox] Generation broke off.', param: null }
  const { code, message } = problem
  const response = { ...begun, status: 'failed', error: { type: 'server_error', code, message } }
  return [
    { type: 'error', ...problem, error: { type: 'server_error', ...problem } },
    { type: 'response.failed', response },
  ]
}

/** A built-in tool takes its time before each of these. */
const working = /_call\.(searching|interpreting|generating|partial_image|completed)$/

/**
 * Events as frames: named by `event:`, numbered from 0, LF, no `[DONE]`; deltas padded unless
 * `stream_options.include_obfuscation` is false.
 * @param after resume behind this sequence number
 */
export function* eventFrames(
  events: Iterable<JsonObject>,
  {
    obfuscates,
    seed,
    first = 0,
    after = -1,
  }: { obfuscates: boolean; seed: string; first?: number; after?: number },
): Generator<Frame> {
  const random = seededRandom('obfuscation', seed)
  let number = first
  let hasStarted = false
  for (const { type, ...rest } of events) {
    const name = textOf(type)
    const isDelta = name.endsWith('.delta')
    const padding = isDelta && obfuscates ? { obfuscation: paddingOf(random) } : {}
    const sequence_number = number++
    if (sequence_number <= after) continue
    const pause = isDelta && hasStarted ? 'token' : isDelta || working.test(name) ? 'first' : 'none'
    hasStarted ||= isDelta
    const data = { type, sequence_number, ...rest, ...padding }
    yield namedEvent(name, data, pause, terminals.has(name) ? 'terminal' : 'event')
  }
}

interface TimedStream {
  readonly timing: Timing
  /** Resume behind this sequence number. */
  readonly after: number
  /** Whether the response has been cancelled, or is not kept any more. */
  isStopped(): Promise<boolean>
  readonly clock: Clock
}

/**
 * The stream of a background response: every event when it is due, whoever reads it and from where. It ends without a
 * terminal event when the response is cancelled.
 */
export async function* framesInTime(
  frames: readonly Frame[],
  { timing, after, isStopped, clock }: TimedStream,
): AsyncGenerator<Frame> {
  const { acceptedAt, pendingMs, runningMs } = timing
  const last = frames.length - 1
  for (const [number, frame] of frames.entries()) {
    if (number <= after) continue
    if (await isStopped()) return
    // The first two say that it is queued, the next that it begins.
    const share = Math.max(0, (number - 2) / Math.max(1, last - 2))
    const dueAt = acceptedAt + (number < 2 ? 0 : pendingMs + runningMs * share)
    yield { ...frame, pause: Math.max(0, dueAt - clock.now()) }
  }
}

const letters = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789']

function paddingOf(random: Random): string {
  const length = 1 + Math.floor(random() * 15)
  return Array.from({ length }, () => pick(random, letters)).join('')
}
