import type { Clock } from '../../context.ts'
import { namedEvent, type Frame } from '../http/reply.ts'
import { type JsonObject, textOf, objectsOf } from '../json-value.ts'
import { pick, seededRandom, type Random } from '../seeded-random.ts'
import type { ResponsePlan } from './plan-response.ts'
import type { OutputItem } from './output-items.ts'
import type { Timing } from './response-store.ts'

const terminals = new Set(['response.completed', 'response.incomplete', 'response.failed'])

/** Deltas before generation breaks off in the scenario `error`. */
const deltasBeforeError = 5

/** The whole stream of a response (wire notes, section 2, "Event types"). */
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

/** As recorded: an `error` event with a nested error, immediately followed by the failed response. */
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
    const pause = isDelta ? (hasStarted ? 'token' : 'first') : 'none'
    hasStarted ||= isDelta
    const data = { type, sequence_number, ...rest, ...padding }
    yield namedEvent(name, data, pause, terminals.has(name) ? 'terminal' : 'event')
  }
}

interface TimedStream {
  readonly timing: Timing
  /** Resume behind this sequence number. */
  readonly after: number
  /** Whether the response has been cancelled or deleted. */
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
    // The first says that it is queued, the next two that it begins.
    const share = Math.max(0, (number - 2) / Math.max(1, last - 2))
    const dueAt = acceptedAt + (number === 0 ? 0 : pendingMs + runningMs * share)
    yield { ...frame, pause: Math.max(0, dueAt - clock.now()) }
  }
}

const letters = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789']

function paddingOf(random: Random): string {
  const length = 1 + Math.floor(random() * 15)
  return Array.from({ length }, () => pick(random, letters)).join('')
}

/** The events of one output item, from `added` to `done`, without sequence numbers. */
function* itemEvents(output: OutputItem, index: number): Generator<JsonObject> {
  const { item, tokens } = output
  const location = { item_id: item['id'], output_index: index }
  yield { type: 'response.output_item.added', output_index: index, item: { ...item, ...emptied(item) } }
  const [part] = objectsOf(item['content'] ?? item['summary'])
  if (part !== undefined) yield* partEvents(output, part, location)
  const call = callFields[textOf(item['type'])]
  if (call !== undefined) {
    const { field, prefix } = call
    for (const delta of tokens) yield { type: `${prefix}.delta`, ...location, delta }
    const name = field === 'arguments' ? { name: item['name'] } : {}
    yield { type: `${prefix}.done`, ...location, ...name, [field]: item[field] }
  }
  yield { type: 'response.output_item.done', output_index: index, item }
}

/** The input field of calls, and the names of the events for it. */
const callFields: Readonly<Record<string, { readonly field: string; readonly prefix: string }>> = {
  function_call: { field: 'arguments', prefix: 'response.function_call_arguments' },
  custom_tool_call: { field: 'input', prefix: 'response.custom_tool_call_input' },
}

/** The fields that are empty when an item is announced. */
function emptied({ type }: JsonObject): JsonObject {
  if (type === 'reasoning') return { summary: [] }
  const call = callFields[textOf(type)]
  return { status: 'in_progress', ...(call === undefined ? { content: [] } : { [call.field]: '' }) }
}

/** The text field of message and summary parts, and the names of the events for it. */
const partFields: Readonly<Record<string, { field: string; text: string; part: string }>> = {
  output_text: { field: 'text', text: 'output_text', part: 'content' },
  refusal: { field: 'refusal', text: 'refusal', part: 'content' },
  summary_text: { field: 'text', text: 'reasoning_summary_text', part: 'reasoning_summary' },
}

function* partEvents(
  { tokens, logprobs }: OutputItem,
  part: JsonObject,
  location: JsonObject,
): Generator<JsonObject> {
  const fields = partFields[textOf(part['type'])]!
  const [field, prefix, partPrefix] = [
    fields.field,
    `response.${fields.text}`,
    `response.${fields.part}_part`,
  ]
  const at = { ...location, [fields.part === 'content' ? 'content_index' : 'summary_index']: 0 }
  // Only text has log probabilities; the list is always present but may be empty.
  const scores = (some: readonly JsonObject[]) => (part['logprobs'] === undefined ? {} : { logprobs: some })
  yield { type: `${partPrefix}.added`, ...at, part: { ...part, ...scores([]), [field]: '' } }
  for (const [token, delta] of tokens.entries()) {
    yield { type: `${prefix}.delta`, ...at, delta, ...scores(logprobs.slice(token, token + 1)) }
  }
  yield { type: `${prefix}.done`, ...at, [field]: part[field], ...scores(logprobs) }
  yield { type: `${partPrefix}.done`, ...at, part }
}
