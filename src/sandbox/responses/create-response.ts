import { responsesEndpoint } from '../../contract/responses.ts'
import { composeAnswer } from '../answer/compose-answer.ts'
import { countJson, countTokens } from '../answer/answer.ts'
import { assertValid, RequestProblem } from '../http/request-problem.ts'
import { eventHeaders, jsonReply, streamReply, type Reply } from '../http/reply.ts'
import { type JsonObject, objectOf, textOf } from '../json-value.ts'
import { defaultTextModel, textModel } from '../models.ts'
import type { SandboxRequest, SandboxContext } from '../request.ts'
import { seededHex } from '../seeded-random.ts'
import { countItem, inputItems, readRequest } from './read-request.ts'
import { wantsLogprobs, topLogprobs } from './output-items.ts'
import { conversationId, planResponse, type ResponsePlan } from './plan-response.ts'
import { breakOffEvents, eventFrames, responseEvents } from './response-events.ts'
import type { ResponseStore, StoredResponse } from './response-store.ts'

/** Public practice: cached input is counted in steps of this many tokens. */
const cacheStep = 128

/** The cost of one log probability with its token and bytes, in characters. */
const costOfLogprob = 20

/**
 * Endpoint 2: create a response, streamed, whole or in the background.
 * @throws RequestProblem
 */
export function createResponse(
  request: SandboxRequest,
  store: ResponseStore,
  { seed, clock }: SandboxContext,
): Reply {
  const { body, budget } = request
  assertValid(responsesEndpoint, body)
  const model = textModel(textOf(body['model']) || defaultTextModel.id)
  const earlier = earlierItems(body, store)
  const input = inputItems(body)
  const fixed = countTokens(textOf(body['instructions'])) + countJson(body['tools'])
  const context = fitContext([...earlier, ...input], fixed, model.contextWindow, body['truncation'])
  const textRequest = readRequest(request, context.items, model)
  const answer = composeAnswer(textRequest, budget)
  // The reply repeats the request except its input.
  budget.spendOn({ ...body, input: undefined })
  if (wantsLogprobs(body)) budget.spend(answer.visibleTokens * (topLogprobs(body) + 1) * costOfLogprob)
  const known = earlier.reduce((sum, item) => sum + countItem(item), 0)
  const plan = planResponse(body, answer, {
    id: `resp_${seededHex(48, seed, 'responses', request.number)}`,
    model: model.id,
    createdAt: Math.floor(clock.now() / 1000),
    inputTokens: context.tokens,
    cachedTokens: Math.min(Math.floor(known / cacheStep) * cacheStep, context.tokens),
  })
  const isStream = body['stream'] === true && !request.ignoresStream
  if (!isStream && plan.breaksOff && body['background'] !== true) {
    throw new RequestProblem(500, '[sandbox] Generation broke off.')
  }
  storeResponse(plan, context.items, { input, size: request.size }, store)
  if (isStream) return streamOf(plan)
  const first = body['background'] === true ? plan.at('queued') : plan.final
  return jsonReply(first, {
    headers: requestId(plan),
    creates: true,
    pause: body['background'] === true ? 'none' : 'first',
  })
}

/** The stream of a response, from its start or after a sequence number. */
function streamOf(plan: ResponsePlan, after = -1): Reply {
  const obfuscates = objectOf(plan.body['stream_options'])['include_obfuscation'] !== false
  const options = { obfuscates, seed: plan.id, after }
  return streamReply(eventFrames(responseEvents(plan), options), {
    headers: { ...eventHeaders, ...requestId(plan) },
    breakOff: (sent) => eventFrames(breakOffEvents(plan), { ...options, first: sent }),
  })
}

function requestId({ id }: ResponsePlan): Record<string, string> {
  return { 'x-request-id': `req_${seededHex(32, id)}` }
}

/**
 * The items before the input: the chain of responses, or the conversation.
 * @throws RequestProblem 404 for a response that is not stored
 */
function earlierItems(body: JsonObject, store: ResponseStore): readonly JsonObject[] {
  const previous = body['previous_response_id']
  if (typeof previous === 'string') {
    const stored = store.find(previous)
    if (stored !== undefined) return [...stored.context, ...outputOf(stored.plan)]
    throw new RequestProblem(404, `Previous response with id '${previous}' not found.`, {
      param: 'previous_response_id',
      code: 'previous_response_not_found',
    })
  }
  const id = conversationId(body)
  return id === undefined ? [] : store.conversation(id)
}

function storeResponse(
  plan: ResponsePlan,
  context: readonly JsonObject[],
  { input, size }: { readonly input: readonly JsonObject[]; readonly size: number },
  store: ResponseStore,
): void {
  const { body } = plan
  // A background response can only be looked up, so it is always stored.
  if (body['store'] !== false || body['background'] === true) store.keep({ plan, context, size })
  const id = conversationId(body)
  // Only a complete response joins its conversation (specification, "States and transitions").
  if (id !== undefined && plan.final['status'] === 'completed')
    store.appendTo(id, [...input, ...outputOf(plan)], size)
}

function outputOf({ items }: ResponsePlan): readonly JsonObject[] {
  return items.map(({ item }) => item)
}

/**
 * Makes the input fit the context window: with `truncation: auto` items are dropped from the start of the
 * conversation (specification, endpoint 2, Rules), the last one is always kept.
 * @param fixed tokens of instructions and tools, which are never dropped
 * @throws RequestProblem 400 when it does not fit (specification, Errors)
 */
function fitContext(
  items: readonly JsonObject[],
  fixed: number,
  window: number,
  truncation: unknown,
): { readonly items: readonly JsonObject[]; readonly tokens: number } {
  const sizes = items.map(countItem)
  let tokens = sizes.reduce((sum, size) => sum + size, fixed)
  let dropped = 0
  if (truncation === 'auto') {
    while (tokens > window && dropped < items.length - 1) tokens -= sizes[dropped++]!
  }
  if (tokens > window) {
    throw new RequestProblem(
      400,
      `Your input exceeds the context window of this model: ${tokens} tokens, and it reads ${window}.`,
      { param: 'input', code: 'context_length_exceeded' },
    )
  }
  return { items: items.slice(dropped), tokens }
}

/** `GET /v1/responses/{id}`, with `?stream=true&starting_after=N` the rest of its stream. */
export function getResponse(request: SandboxRequest, store: ResponseStore): Reply {
  const { plan } = stored(request, store)
  const { query } = request
  if (query.get('stream') !== 'true') return jsonReply(store.current(plan.id))
  const after = Number(query.get('starting_after') ?? -1)
  if (Number.isInteger(after)) return { ...streamOf(plan, after), creates: false }
  throw new RequestProblem(400, "Invalid 'starting_after': must be a whole number.", {
    param: 'starting_after',
  })
}

/** `POST /v1/responses/{id}/cancel`: for background responses; one that has ended stays as it is. */
export function cancelResponse(request: SandboxRequest, store: ResponseStore): Reply {
  const { id, body } = stored(request, store).plan
  if (body['background'] !== true) throw new RequestProblem(400, 'Cannot cancel a synchronous response.')
  store.cancel(id)
  return jsonReply(store.current(id))
}

/** `DELETE /v1/responses/{id}` */
export function deleteResponse(request: SandboxRequest, store: ResponseStore): Reply {
  const { id } = stored(request, store).plan
  store.remove(id)
  return jsonReply({ id, object: 'response', deleted: true })
}

function stored({ params }: SandboxRequest, store: ResponseStore): StoredResponse {
  const id = params['id']!
  const found = store.find(id)
  if (found === undefined) throw new RequestProblem(404, `Response with id '${id}' not found.`)
  return found
}
