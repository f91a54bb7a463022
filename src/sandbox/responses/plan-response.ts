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

/** What a response repeats of its request: the value there, else the contract's default, else this. */
const echoed: JsonObject = {
  background: null,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: null,
  previous_response_id: null,
  prompt_cache_key: null,
  safety_identifier: null,
  service_tier: 'default',
  store: null,
  temperature: null,
  tool_choice: 'auto',
  tools: [],
  top_logprobs: 0,
  top_p: null,
  truncation: null,
  user: null,
}

/** A response object with every field that the specification requires, and the optional ones it names. */
function responseObject(
  body: JsonObject,
  { id, createdAt, model }: PlanFacts,
  state: ResponseState,
): JsonObject {
  const { effort = null, summary = null } = objectOf(body['reasoning'])
  const conversation = conversationId(body)
  return {
    id,
    object: 'response',
    created_at: createdAt,
    status: state.status,
    ...(state.completedAt !== undefined && { completed_at: state.completedAt }),
    error: state.error ?? null,
    incomplete_details: state.incompleteReason === undefined ? null : { reason: state.incompleteReason },
    model,
    output: state.output,
    usage: state.usage,
    ...Object.fromEntries(
      Object.entries(echoed).map(([name, otherwise]) => [
        name,
        body[name] ?? responseFields[name]?.default ?? otherwise,
      ]),
    ),
    reasoning: { effort, summary },
    text: { format: { type: 'text' }, verbosity: 'medium', ...objectOf(body['text']) },
    ...(body['prompt'] !== undefined && { prompt: body['prompt'] }),
    ...(conversation !== undefined && { conversation: { id: conversation } }),
  }
}

export function conversationId({ conversation }: JsonObject): string | undefined {
  const id = isObject(conversation) ? conversation['id'] : conversation
  return typeof id === 'string' ? id : undefined
}
