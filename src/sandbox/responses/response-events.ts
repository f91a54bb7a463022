import type { Frame } from '../http/reply.ts'
import { type JsonObject, textOf, objectsOf } from '../json-value.ts'
import { seededRandom } from '../seeded-random.ts'
import type { ResponsePlan } from './plan-response.ts'
import type { OutputItem } from './output-items.ts'

const terminals = new Set(['response.completed', 'response.incomplete', 'response.failed'])

/** Deltas that still come before generation breaks off in the scenario `error`. */
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

/** The events of one output item, from `added` to `done`, without sequence numbers. */
function* itemEvents(output: OutputItem, index: number): Generator<JsonObject> {
  const { item, kind } = output
  const place = { item_id: item['id'], output_index: index }
  yield { type: 'response.output_item.added', output_index: index, item: started(output) }
  if (kind === 'message') yield* messageEvents(output, place)
  else if (kind === 'reasoning') yield* summaryEvents(output, place)
  else yield* callEvents(output, place)
  yield { type: 'response.output_item.done', output_index: index, item }
}

function started({ item, kind }: OutputItem): JsonObject {
  switch (kind) {
    case 'message':
      return { ...item, status: 'in_progress', content: [] }
    case 'reasoning':
      return { ...item, summary: [] }
    case 'function_call':
      return { ...item, status: 'in_progress', arguments: '' }
    case 'custom_tool_call':
      return { ...item, status: 'in_progress', input: '' }
  }
}

function* messageEvents({ item, tokens, logprobs }: OutputItem, place: JsonObject): Generator<JsonObject> {
  const [part = {}] = objectsOf(item['content'])
  const at = { ...place, content_index: 0 }
  if (part['type'] === 'refusal') {
    yield { type: 'response.content_part.added', ...at, part: { type: 'refusal', refusal: '' } }
    for (const delta of tokens) yield { type: 'response.refusal.delta', ...at, delta }
    yield { type: 'response.refusal.done', ...at, refusal: part['refusal'] }
  } else {
    const empty = { type: 'output_text', annotations: [], logprobs: [], text: '' }
    yield { type: 'response.content_part.added', ...at, part: empty }
    for (const [index, delta] of tokens.entries()) {
      yield { type: 'response.output_text.delta', ...at, delta, logprobs: logprobs.slice(index, index + 1) }
    }
    yield { type: 'response.output_text.done', ...at, text: part['text'], logprobs }
  }
  yield { type: 'response.content_part.done', ...at, part }
}

function* summaryEvents({ item, tokens }: OutputItem, place: JsonObject): Generator<JsonObject> {
  const [part] = objectsOf(item['summary'])
  if (part === undefined) return
  const at = { ...place, summary_index: 0 }
  yield { type: 'response.reasoning_summary_part.added', ...at, part: { type: 'summary_text', text: '' } }
  for (const delta of tokens) yield { type: 'response.reasoning_summary_text.delta', ...at, delta }
  yield { type: 'response.reasoning_summary_text.done', ...at, text: part['text'] }
  yield { type: 'response.reasoning_summary_part.done', ...at, part }
}

function* callEvents({ item, kind, tokens }: OutputItem, place: JsonObject): Generator<JsonObject> {
  if (kind === 'custom_tool_call') {
    for (const delta of tokens) yield { type: 'response.custom_tool_call_input.delta', ...place, delta }
    yield { type: 'response.custom_tool_call_input.done', ...place, input: item['input'] }
    return
  }
  for (const delta of tokens) yield { type: 'response.function_call_arguments.delta', ...place, delta }
  const { name, arguments: text } = item
  yield { type: 'response.function_call_arguments.done', ...place, name, arguments: text }
}
