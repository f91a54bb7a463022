import type { Clock } from '../../context.ts'
import { namedEvent, type Frame } from '../http/reply.ts'
import { type JsonObject, textOf } from '../json-value.ts'
import { pick, seededRandom } from '../seeded-random.ts'
import { itemEvents } from './output-items.ts'
import { begunOf, type StoredResponse, type Timing } from './response-store.ts'

const terminals = new Set(['response.completed', 'response.incomplete', 'response.failed'])

/** Deltas before generation breaks off in the scenario `error`. */
const deltasBeforeError = 5

/** The whole stream of a response (wire notes, section 2, "Event types"). */
export function* responseEvents(stored: StoredResponse): Generator<JsonObject> {
  const { response, items, breaksOff, timing } = stored
  const at = (status: string) => ({ response: { ...begunOf(response), status } })
  // First in either case: the official client begins with it.
  yield { type: 'response.created', ...at(timing === null ? 'in_progress' : 'queued') }
  if (timing !== null) yield { type: 'response.queued', ...at('queued') }
  yield { type: 'response.in_progress', ...at('in_progress') }
  let deltas = 0
  for (const [index, item] of items.entries()) {
    for (const event of itemEvents(item, index)) {
      if (breaksOff && textOf(event['type']).endsWith('.delta') && ++deltas > deltasBeforeError) {
        yield* breakOffEvents(stored)
        return
      }
      yield event
    }
  }
  if (breaksOff) yield* breakOffEvents(stored)
  else yield { type: `response.${textOf(response['status'])}`, response }
}

/**
 * As recorded: an `error` event with a nested error, immediately followed by the failed response. The documented fields
 * of that event are there, too.
 */
export function breakOffEvents({ response }: StoredResponse): readonly JsonObject[] {
  const problem = { code: 'server_error', message: '[sandbox] Generation broke off.', param: null }
  const { code, message } = problem
  const failed = { ...begunOf(response), status: 'failed', error: { type: 'server_error', code, message } }
  return [
    { type: 'error', ...problem, error: { type: 'server_error', ...problem } },
    { type: 'response.failed', response: failed },
  ]
}

/** A built-in tool takes its time before each of these. */
const working = /_call\.(searching|interpreting|generating|partial_image|completed)$/

const letters = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789']

/**
 * Events as frames: named by `event:`, numbered, LF, no `[DONE]`; deltas padded unless
 * `stream_options.include_obfuscation` is false.
 * @param first the number of the first event
 * @param after resume after this sequence number
 */
export function* eventFrames(
  { id, pads }: StoredResponse,
  events: Iterable<JsonObject>,
  { first = 0, after = -1 } = {},
): Generator<Frame> {
  const random = seededRandom('obfuscation', id)
  let sequence_number = first - 1
  let hasStarted = false
  for (const { type, ...rest } of events) {
    const name = textOf(type)
    const isDelta = name.endsWith('.delta')
    const length = isDelta && pads ? 1 + Math.floor(random() * 15) : 0
    const padding = Array.from({ length }, () => pick(random, letters)).join('')
    if (++sequence_number <= after) continue
    const pause = isDelta && hasStarted ? 'token' : isDelta || working.test(name) ? 'first' : 'none'
    hasStarted ||= isDelta
    const data = { type, sequence_number, ...rest, ...(length > 0 && { obfuscation: padding }) }
    yield namedEvent(name, data, pause, terminals.has(name) ? 'terminal' : 'event')
  }
}

interface TimedStream {
  readonly timing: Timing
  /** Resume after this sequence number. */
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
