import { responseFields } from '../../contract/responses.ts'
import type { JsonObject } from '../json-value.ts'
import { isObject, objectOf } from '../json-value.ts'

/** What changes in a response object while it is generated; the rest is the request, echoed. */
export interface ResponseState {
  readonly status: string
  readonly output: readonly JsonObject[]
  readonly usage: JsonObject | null
  readonly error?: JsonObject
  readonly incompleteReason?: string
  /** Unix time in seconds. */
  readonly completedAt?: number
}

/** A response object with every field that the specification requires, and the optional ones it names. */
export function responseObject(
  body: JsonObject,
  { id, createdAt, model }: { readonly id: string; readonly createdAt: number; readonly model: string },
  state: ResponseState,
): JsonObject {
  const reasoning = objectOf(body['reasoning'])
  return {
    id,
    object: 'response',
    created_at: createdAt,
    status: state.status,
    background: field(body, 'background'),
    ...(state.completedAt !== undefined && { completed_at: state.completedAt }),
    error: state.error ?? null,
    incomplete_details: state.incompleteReason === undefined ? null : { reason: state.incompleteReason },
    instructions: field(body, 'instructions'),
    max_output_tokens: field(body, 'max_output_tokens'),
    max_tool_calls: field(body, 'max_tool_calls'),
    model,
    output: state.output,
    parallel_tool_calls: field(body, 'parallel_tool_calls'),
    previous_response_id: field(body, 'previous_response_id'),
    prompt_cache_key: field(body, 'prompt_cache_key'),
    reasoning: { effort: reasoning['effort'] ?? null, summary: reasoning['summary'] ?? null },
    safety_identifier: field(body, 'safety_identifier'),
    service_tier: body['service_tier'] ?? 'default',
    store: field(body, 'store'),
    temperature: field(body, 'temperature'),
    text: { format: { type: 'text' }, verbosity: 'medium', ...objectOf(body['text']) },
    tool_choice: body['tool_choice'] ?? 'auto',
    tools: body['tools'] ?? [],
    top_logprobs: body['top_logprobs'] ?? 0,
    top_p: field(body, 'top_p'),
    truncation: field(body, 'truncation'),
    usage: state.usage,
    user: field(body, 'user'),
    metadata: body['metadata'] ?? {},
    ...(body['prompt'] !== undefined && { prompt: body['prompt'] }),
    ...conversationOf(body),
  }
}

/** The value in the request, the contract's default, or null. */
function field(body: JsonObject, name: string): unknown {
  return body[name] ?? responseFields[name]?.default ?? null
}

function conversationOf({ conversation }: JsonObject): JsonObject {
  const id = isObject(conversation) ? conversation['id'] : conversation
  return typeof id === 'string' ? { conversation: { id } } : {}
}
