import type { Answer, Ending } from '../answer/answer.ts'
import { type JsonObject, isObject, objectOf } from '../json-value.ts'
import { outputItems, type ComposedResponse } from './answer-items.ts'
import type { OutputItem } from './output-item.ts'
import { responseFields } from '../../contract/responses.ts'

/** A composed response: plain data, which can be kept on disk. */
export interface ResponsePlan {
  readonly id: string
  readonly body: JsonObject
  readonly items: readonly OutputItem[]
  /** The response object without its state. */
  readonly begun: JsonObject
  /** The response object at its end. */
  readonly final: JsonObject
  /** Whether generation ends with an error in mid-stream. */
  readonly breaksOff: boolean
}

interface PlanFacts {
  readonly id: string
  readonly model: string
  /** Unix time in seconds. */
  readonly createdAt: number
  /** Unix time in seconds. */
  readonly completedAt: number
  readonly inputTokens: number
  readonly cachedTokens: number
}

/** The public service has `code` and `message`; some clients want a `type`, too. */
const failure = {
  type: 'server_error',
  code: 'server_error',
  message: '[sandbox] The model could not generate a response.',
}

/** Decides all of a response before any of it is sent, so that every way to get it tells the same. */
export function planResponse(body: JsonObject, composed: ComposedResponse, facts: PlanFacts): ResponsePlan {
  const { answer } = composed
  const items = outputItems(composed, body, facts.id)
  const begun = responseObject(body, facts)
  const final = { ...begun, ...finalState(answer, items, facts) }
  return { id: facts.id, body, items, begun, final, breaksOff: answer.ending === 'error' }
}

const statuses: Readonly<Record<Ending, string>> = {
  complete: 'completed',
  refusal: 'completed',
  length: 'incomplete',
  block: 'incomplete',
  failure: 'failed',
  error: 'failed',
}

function finalState(answer: Answer, items: readonly OutputItem[], facts: PlanFacts): JsonObject {
  const status = statuses[answer.ending]
  if (status === 'failed') return { status, error: failure }
  const reason = answer.ending === 'length' ? 'max_output_tokens' : 'content_filter'
  const end =
    status === 'incomplete' ? { incomplete_details: { reason } } : { completed_at: facts.completedAt }
  return { status, output: items.map(({ item }) => item), usage: usageOf(answer, facts), ...end }
}

function usageOf(
  { thoughtTokens, visibleTokens }: Answer,
  { inputTokens, cachedTokens }: PlanFacts,
): JsonObject {
  const output = thoughtTokens + visibleTokens
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: inputTokens - cachedTokens },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: thoughtTokens },
    total_tokens: inputTokens + output,
  }
}

/** The request fields that a response always has, with the fallback if the contract has no default. */
const echoed: JsonObject = {
  background: null,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: null,
  previous_response_id: null,
  service_tier: 'default',
  store: null,
  temperature: null,
  tool_choice: 'auto',
  tools: [],
  top_logprobs: 0,
  top_p: null,
  truncation: null,
}

/** The request fields that a response has if the request has them; the specification does not call them nullable. */
const echoedIfGiven = ['prompt', 'prompt_cache_key', 'safety_identifier', 'user'] as const

/** Every field that the specification requires, and the optional ones it names; all but the state. */
function responseObject(body: JsonObject, { id, createdAt, model }: PlanFacts): JsonObject {
  const { effort = null, summary = null } = objectOf(body['reasoning'])
  const { format, verbosity } = objectOf(body['text'])
  const given = echoedIfGiven.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]]]))
  const conversation = conversationId(body)
  const repeated = Object.entries(echoed).map(([name, otherwise]) => {
    return [name, body[name] ?? responseFields[name]?.default ?? otherwise]
  })
  return {
    id,
    object: 'response',
    created_at: createdAt,
    error: null,
    incomplete_details: null,
    model,
    output: [],
    ...Object.fromEntries(repeated),
    reasoning: { effort, summary },
    text: { format: format ?? { type: 'text' }, verbosity: verbosity ?? 'medium' },
    ...Object.fromEntries(given),
    ...(conversation !== undefined && { conversation: { id: conversation } }),
  }
}

/** The conversation that a request names, as an id or as an object with one. */
export function conversationId({ conversation }: JsonObject): string | undefined {
  const id = isObject(conversation) ? conversation['id'] : conversation
  return typeof id === 'string' ? id : undefined
}
