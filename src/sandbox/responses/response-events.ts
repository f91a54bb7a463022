import type { Frame } from '../http/reply.ts'
import type { JsonObject } from '../json-value.ts'
import { textOf } from '../json-value.ts'
import { seededRandom } from '../seeded-random.ts'
import { itemEvents } from './item-events.ts'
import type { ResponsePlan } from './plan-response.ts'

const terminals = new Set(['response.completed', 'response.incomplete', 'response.failed'])

/** Deltas that still come before generation breaks off in the scenario `error`. */
const deltasBeforeError = 5

/** The whole stream of a response (wire facts, section 2, "Event types"). */
export function* responseEvents(plan: ResponsePlan): Generator<JsonObject> {
  const { body } = plan
  if (body['background'] === true) yield { type: 'response.queued', response: plan.at('queued') }
  yield { type: 'response.created', response: plan.at('in_progress') }
  yield { type: 'response.in_progress', response: plan.at('in_progress') }
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

/** The recorded form: an `error` event with the error nested, and the failed response right after it. */
export function breakOffEvents(plan: ResponsePlan): readonly JsonObject[] {
  const error = {
    type: 'server_error',
    code: 'server_error',
    message: '[sandbox] Generation broke off.',
    param: null,
  }
  const response = plan.failedWith({ code: error.code, message: error.message })
  return [
    { type: 'error', error },
    { type: 'response.failed', response },
  ]
}

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
    const data = JSON.stringify({ type, sequence_number, ...rest, ...padding })
    const pause = isDelta ? (hasStarted ? 'token' : 'first') : 'none'
    hasStarted ||= isDelta
    yield {
      text: `event: ${name}\ndata: ${data}\n\n`,
      pause,
      role: terminals.has(name) ? 'terminal' : 'event',
    }
  }
}

const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'

function paddingOf(random: () => number): string {
  const length = 1 + Math.floor(random() * 15)
  return Array.from({ length }, () => letters[Math.floor(random() * letters.length)]).join('')
}
