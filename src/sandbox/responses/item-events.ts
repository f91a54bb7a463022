import type { JsonObject } from '../json-value.ts'
import { objectsOf } from '../json-value.ts'
import type { OutputItem } from './output-items.ts'

/** The events of one output item, from `added` to `done`, without sequence numbers. */
export function* itemEvents(output: OutputItem, index: number): Generator<JsonObject> {
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
