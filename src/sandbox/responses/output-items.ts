import { tokensOf } from '../answer/answer.ts'
import { type JsonObject, listOf, objectsOf, textOf } from '../json-value.ts'

/** A complete output item, and the pieces in which it is streamed; plain data, since it may be kept on disk. */
export interface OutputItem {
  readonly item: JsonObject
  readonly tokens: readonly string[]
  /** One entry per token, if log probabilities were requested. */
  readonly logprobs: readonly JsonObject[]
  readonly partials: readonly string[]
}

/** @param streamed the pieces of the item, or the text to cut into pieces */
export function output(
  item: JsonObject,
  streamed: string | readonly string[] = [],
  more: Partial<OutputItem> = {},
): OutputItem {
  const tokens = typeof streamed === 'string' ? tokensOf(streamed) : streamed
  return { item, tokens, logprobs: [], partials: [], ...more }
}

/** Events between the announcement of an item and its end; the place of the item is added to each. */
type Step = (output: OutputItem) => Iterable<JsonObject>

/** How each kind of output item is streamed (wire notes, section 2, "Event types"). */
const steps: Readonly<Record<string, readonly Step[]>> = {
  message: [parts('content')],
  reasoning: [parts('summary'), parts('content')],
  function_call: [pieces('arguments', ['name'])],
  custom_tool_call: [pieces('input')],
  web_search_call: [reached('in_progress'), reached('searching'), ended()],
  file_search_call: [reached('in_progress'), reached('searching'), ended()],
  code_interpreter_call: [reached('in_progress'), pieces('code'), reached('interpreting'), ended()],
  image_generation_call: [reached('in_progress'), reached('generating'), partialImages, ended()],
  mcp_list_tools: [reached('in_progress'), ended('failed')],
  mcp_call: [reached('in_progress'), pieces('arguments'), ended('failed')],
  mcp_approval_request: [],
  computer_call: [],
  local_shell_call: [],
}

/** The fields that are not yet filled when an item is announced, where it has them. */
const unfilled: JsonObject = {
  status: 'in_progress',
  content: [],
  summary: [],
  tools: [],
  arguments: '',
  input: '',
  code: '',
  results: null,
  outputs: null,
  result: null,
  output: null,
  error: null,
}

export function* itemEvents(output: OutputItem, index: number): Generator<JsonObject> {
  const { item } = output
  const type = textOf(item['type'])
  const empty = Object.fromEntries(Object.entries(unfilled).filter(([name]) => Object.hasOwn(item, name)))
  // A request for approval comes as a whole.
  const announced = type === 'mcp_approval_request' ? item : { ...item, ...empty }
  yield { type: 'response.output_item.added', output_index: index, item: announced }
  for (const step of steps[type]!) {
    for (const { type, ...rest } of step(output)) {
      yield { type, item_id: item['id'], output_index: index, ...rest }
    }
  }
  yield { type: 'response.output_item.done', output_index: index, item }
}

function reached(state: string): Step {
  return ({ item }) => [{ type: `response.${textOf(item['type'])}.${state}` }]
}

/** @param failure the state of an item that failed; most kinds have no event for it */
function ended(failure?: string): Step {
  return (output) => {
    const { status, error } = output.item
    if (status !== 'failed' && (error ?? null) === null) return reached('completed')(output)
    return failure === undefined ? [] : reached(failure)(output)
  }
}

/** A field in pieces, and at the end whole, with the other fields that the last event repeats. */
function pieces(field: string, repeated: readonly string[] = []): Step {
  return function* ({ item, tokens }) {
    const event = `response.${textOf(item['type'])}_${field}`
    for (const delta of tokens) yield { type: `${event}.delta`, delta }
    const others = Object.fromEntries(repeated.map((name) => [name, item[name]]))
    yield { type: `${event}.done`, ...others, [field]: item[field] }
  }
}

function* partialImages({ item, partials }: OutputItem): Iterable<JsonObject> {
  const { size, quality, background, output_format } = item
  const type = 'response.image_generation_call.partial_image'
  for (const [partial_image_index, partial_image_b64] of partials.entries()) {
    yield { type, partial_image_index, partial_image_b64, size, quality, background, output_format }
  }
}

/** The text field of message and reasoning parts, and the names of the events for it. */
const partFields: Readonly<Record<string, { field: string; text: string; part: string }>> = {
  output_text: { field: 'text', text: 'output_text', part: 'content' },
  refusal: { field: 'refusal', text: 'refusal', part: 'content' },
  reasoning_text: { field: 'text', text: 'reasoning_text', part: 'content' },
  summary_text: { field: 'text', text: 'reasoning_summary_text', part: 'reasoning_summary' },
}

function parts(list: 'content' | 'summary'): Step {
  return function* (output) {
    const place = list === 'content' ? 'content_index' : 'summary_index'
    for (const [index, part] of objectsOf(output.item[list]).entries()) {
      for (const { type, ...rest } of partEvents(output, part)) yield { type, [place]: index, ...rest }
    }
  }
}

function* partEvents({ item, tokens, logprobs }: OutputItem, part: JsonObject): Iterable<JsonObject> {
  const { field, text, part: whole } = partFields[textOf(part['type'])]!
  const annotations = listOf(part['annotations'])
  // Only text has log probabilities and annotations; the lists are always present but may be empty.
  const scores = (some: readonly JsonObject[]) => (part['logprobs'] === undefined ? {} : { logprobs: some })
  const begun = { ...part, ...scores([]), ...(part['annotations'] !== undefined && { annotations: [] }) }
  yield { type: `response.${whole}_part.added`, part: { ...begun, [field]: '' } }
  const deltas = item['type'] === 'message' ? tokens : tokensOf(textOf(part[field]))
  for (const [token, delta] of deltas.entries()) {
    yield { type: `response.${text}.delta`, delta, ...scores(logprobs.slice(token, token + 1)) }
  }
  for (const [index, annotation] of annotations.entries()) {
    yield { type: 'response.output_text.annotation.added', annotation_index: index, annotation }
  }
  yield { type: `response.${text}.done`, [field]: part[field], ...scores(logprobs) }
  yield { type: `response.${whole}_part.done`, part }
}
