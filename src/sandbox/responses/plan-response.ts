import type { Answer, Ending } from '../answer/answer.ts'
import type { JsonObject } from '../json-value.ts'
import { outputItems } from './output-items.ts'
import type { OutputItem } from './output-items.ts'
import { responseObject } from './response-object.ts'
import type { ResponseState } from './response-object.ts'

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

export interface PlanFacts {
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
