import type { Answer, Ending } from '../answer/answer.ts'
import { type JsonObject, isObject, objectOf } from '../json-value.ts'
import { outputItems, type OutputItem } from './output-items.ts'
import { responseFields } from '../../contract/responses.ts'

/** A response the sandbox has decided on: what it looks like on the way and at its end. */
export interface ResponsePlan {
  readonly id: string
  readonly body: JsonObject
  readonly items: readonly OutputItem[]
  /** The response object at its end. */
  readonly final: JsonObject
  /** Generation ends with an error in mid-stream. */
  readonly breaksOff: boolean
  /** The response object before its end, still without output. */
  at(status: 'queued' | 'in_progress' | 'cancelled'): JsonObject
  failedWith(error: JsonObject): JsonObject
}

interface PlanFacts {
  readonly id: string
  readonly model: string
  /** Unix time in seconds. */
  readonly createdAt: number
  readonly inputTokens: number
  readonly cachedTokens: number
}

const failure = { code: 'server_error', message: '[sandbox] The model could not generate a response.' }

export function planResponse(body: JsonObject, answer: Answer, facts: PlanFacts): ResponsePlan {
  const items = outputItems(answer, body, facts.id)
  const build = (state: ResponseState) => responseObject(body, facts, state)
  const idle = { output: [], usage: null }
  return {
    id: facts.id,
    body,
    items,
    final: build(finalState(answer, items, facts)),
    breaksOff: answer.ending === 'error',
    at: (status) => build({ ...idle, status }),
    failedWith: (error) => build({ ...idle, status: 'failed', error }),
  }
}

const statuses: Readonly<Record<Ending, string>> = {
  complete: 'completed',
  refusal: 'completed',
  length: 'incomplete',
  block: 'incomplete',
  failure: 'failed',
  error: 'failed',
}

function finalState(answer: Answer, items: readonly OutputItem[], facts: PlanFacts): ResponseState {
  const { ending } = answer
  const status = statuses[ending]
  const state = { status, output: items.map(({ item }) => item), usage: usageOf(answer, facts) }
  if (status === 'failed') return { ...state, output: [], usage: null, error: failure }
  if (ending === 'length') return { ...state, incompleteReason: 'max_output_tokens' }
  if (ending === 'block') return { ...state, incompleteReason: 'content_filter' }
  return { ...state, completedAt: facts.createdAt }
}

function usageOf(
  { thoughtTokens, visibleTokens }: Answer,
  { inputTokens, cachedTokens }: PlanFacts,
): JsonObject {
  const output = thoughtTokens + visibleTokens
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedTokens },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: thoughtTokens },
    total_tokens: inputTokens + output,
  }
}

/** What changes in a response object while it is generated; the rest is the request, echoed. */
interface ResponseState {
  readonly status: string
  readonly output: readonly JsonObject[]
  readonly usage: JsonObject | null
  readonly error?: JsonObject
  readonly incompleteReason?: string
  /** Unix time in seconds. */
  readonly completedAt?: number
}

/** A response object with every field that the specification requires, and the optional ones it names. */
function responseObject(
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
