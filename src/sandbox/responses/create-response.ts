import { responsesEndpoint } from '../../contract/responses.ts'
import { countJson, countTokens } from '../answer/answer.ts'
import { assertValid, RequestProblem } from '../http/request-problem.ts'
import { eventHeaders, jsonReply, streamReply, type Reply } from '../http/reply.ts'
import { type JsonObject, objectOf, textOf } from '../json-value.ts'
import { defaultTextModel, textModel } from '../models.ts'
import type { SandboxRequest, SandboxContext } from '../request.ts'
import { seededHex } from '../seeded-random.ts'
import { composeResponse } from './compose-response.ts'
import { countItem, inputItems } from './read-request.ts'
import { wantsLogprobs, topLogprobs } from './answer-items.ts'
import { conversationId, planResponse, type ResponsePlan } from './plan-response.ts'
import { breakOffEvents, eventFrames, framesInTime, responseEvents } from './response-events.ts'
import { responseAt, type ResponseStore, type StoredResponse, type Timing } from './response-store.ts'

/** The state shared by the response endpoints of a sandbox. */
export interface ResponseService extends SandboxContext {
  readonly store: ResponseStore
  /** Of background responses. */
  readonly pacing: Pick<Timing, 'pendingMs' | 'runningMs'>
}

/** Public practice: cached input is counted in steps of this many tokens. */
const cacheStep = 128

/** The cost of one log probability with its token and bytes, in characters. */
const costOfLogprob = 20

/**
 * Endpoint 2: create a response, streamed, whole or in the background.
 * @throws RequestProblem
 */
export async function createResponse(request: SandboxRequest, service: ResponseService): Promise<Reply> {
  const { store, pacing, seed, clock } = service
  const { body, budget } = request
  assertValid(responsesEndpoint, body)
  const model = textModel(textOf(body['model']) || defaultTextModel.id)
  const earlier = await earlierItems(body, store)
  const input = inputItems(body)
  const fixed = countTokens(textOf(body['instructions'])) + countJson(body['tools'])
  const context = fitContext([...earlier, ...input], fixed, model.contextWindow, body['truncation'])
  const isBackground = body['background'] === true
  const id = `resp_${seededHex(48, seed, 'responses', request.number, ...(isBackground ? [store.idSalt()] : []))}`
  const composed = await composeResponse(request, context.items, { model, id, context: service })
  // The reply repeats the request except its input.
  budget.spendOn({ ...body, input: undefined })
  if (wantsLogprobs(body))
    budget.spend(composed.answer.visibleTokens * (topLogprobs(body) + 1) * costOfLogprob)
  const known = earlier.reduce((sum, item) => sum + countItem(item), 0)
  const durationMs = isBackground ? pacing.pendingMs + pacing.runningMs : 0
  const plan = planResponse(body, composed, {
    id,
    model: model.id,
    createdAt: Math.floor(clock.now() / 1000),
    completedAt: Math.floor((clock.now() + durationMs) / 1000),
    inputTokens: context.tokens,
    cachedTokens: Math.min(Math.floor(known / cacheStep) * cacheStep, context.tokens),
  })
  const isStream = body['stream'] === true && !request.ignoresStream
  if (!isStream && plan.breaksOff && !isBackground) {
    throw new RequestProblem(500, '[sandbox] Generation broke off.')
  }
  const timing = { acceptedAt: clock.now(), ...pacing, cancelledAt: null }
  const { size } = request
  const stored = { plan, context: context.items, size, timing: isBackground ? timing : null }
  await storeResponse(stored, input, store)
  if (isStream) return streamOf(stored, { store, clock })
  return jsonReply(responseAt(stored, clock.now()), {
    headers: requestId(plan),
    creates: true,
    pause: isBackground ? 'none' : 'first',
  })
}

/** The stream of a response, from its start or after a sequence number. */
function streamOf(
  stored: StoredResponse,
  { store, clock }: Pick<ResponseService, 'store' | 'clock'>,
  after = -1,
): Reply {
  const { plan, timing } = stored
  const obfuscates = objectOf(plan.body['stream_options'])['include_obfuscation'] !== false
  const options = { obfuscates, seed: plan.id }
  const all = eventFrames(responseEvents(plan), { ...options, after: timing === null ? after : -1 })
  return streamReply(timing === null ? all : framesInTime([...all], { timing, after, isStopped, clock }), {
    headers: { ...eventHeaders, ...requestId(plan) },
    breakOff: (sent) => eventFrames(breakOffEvents(plan), { ...options, first: after + 1 + sent }),
  })
  async function isStopped() {
    return (await store.find(plan.id))?.timing?.cancelledAt !== null
  }
}

function requestId({ id }: ResponsePlan): Record<string, string> {
  return { 'x-request-id': `req_${seededHex(32, id)}` }
}

/**
 * The items before the input: the chain of responses, or the conversation.
 * @throws RequestProblem 404 for a response that is not stored
 */
async function earlierItems(body: JsonObject, store: ResponseStore): Promise<readonly JsonObject[]> {
  const previous = body['previous_response_id']
  if (typeof previous === 'string') {
    const stored = await store.find(previous)
    if (stored !== undefined) return [...stored.context, ...outputOf(stored.plan)]
    throw new RequestProblem(404, `Previous response with id '${previous}' not found.`, {
      param: 'previous_response_id',
      code: 'previous_response_not_found',
    })
  }
  const id = conversationId(body)
  return id === undefined ? [] : store.conversation(id)
}

async function storeResponse(
  stored: StoredResponse,
  input: readonly JsonObject[],
  store: ResponseStore,
): Promise<void> {
  const { plan, timing } = stored
  // A background response can only be looked up, so it is always stored.
  if (plan.body['store'] !== false || timing !== null) await store.keep(stored)
  const conversation = conversationId(plan.body)
  // Only a complete response joins its conversation (specification, "States and transitions").
  if (conversation === undefined || plan.final['status'] !== 'completed') return
  await store.append(stored, { conversation, items: [...input, ...outputOf(plan)] })
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
export async function getResponse(request: SandboxRequest, service: ResponseService): Promise<Reply> {
  const stored = await storedResponse(request, service)
  const { query, ignoresStream } = request
  if (query.get('stream') !== 'true' || ignoresStream)
    return jsonReply(responseAt(stored, service.clock.now()))
  const after = Number(query.get('starting_after') ?? -1)
  if (Number.isInteger(after)) return { ...streamOf(stored, service, after), creates: false }
  throw new RequestProblem(400, "Invalid 'starting_after': must be a whole number.", {
    param: 'starting_after',
  })
}

/** `POST /v1/responses/{id}/cancel`: for background responses; one that has ended stays as it is. */
export async function cancelResponse(request: SandboxRequest, service: ResponseService): Promise<Reply> {
  const { plan, timing } = await storedResponse(request, service)
  if (timing === null) throw new RequestProblem(400, 'Cannot cancel a synchronous response.')
  await service.store.cancel(plan.id)
  return jsonReply(responseAt(await storedResponse(request, service), service.clock.now()))
}

/** `DELETE /v1/responses/{id}` */
export async function deleteResponse(request: SandboxRequest, service: ResponseService): Promise<Reply> {
  const { id } = (await storedResponse(request, service)).plan
  await service.store.remove(id)
  return jsonReply({ id, object: 'response', deleted: true })
}

async function storedResponse(
  { params }: SandboxRequest,
  { store }: ResponseService,
): Promise<StoredResponse> {
  const id = params['id']!
  const found = await store.find(id)
  if (found === undefined) throw new RequestProblem(404, `Response with id '${id}' not found.`)
  return found
}
