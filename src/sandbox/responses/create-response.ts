import { RequestProblem } from '../http/request-problem.ts'
import { eventHeaders, jsonReply, streamReply, type Reply } from '../http/reply.ts'
import { type JsonObject, objectOf, objectsOf, textOf } from '../json-value.ts'
import { defaultTextModel, textModel } from '../sandbox-models.ts'
import type { SandboxRequest, SandboxContext } from '../request.ts'
import { seededHex } from '../seeded-random.ts'
import { checkRequest } from './check-request.ts'
import { composeResponse } from './compose-response.ts'
import type { PromptCache } from '../answer/prompt-cache.ts'
import { cacheGroupOf, fitContext, textsOfRequest } from './context-tokens.ts'
import { checkCalls, inputItems, resolveReferences } from './input-items.ts'
import { wantsLogprobs, topLogprobs } from './answer-items.ts'
import { conversationId, planResponse, type ResponsePlan } from './plan-response.ts'
import { breakOffEvents, eventFrames, framesInTime, responseEvents } from './response-events.ts'
import { responseAt, type ResponseStore, type StoredResponse, type Timing } from './response-store.ts'

/** The state shared by the response endpoints of a sandbox. */
export interface ResponseService extends SandboxContext {
  readonly store: ResponseStore
  readonly cache: PromptCache
  /** Of background responses. */
  readonly pacing: Pick<Timing, 'pendingMs' | 'runningMs'>
}

/** The cost of one log probability with its token and bytes, in characters. */
const costOfLogprob = 20

/**
 * Endpoint 2: create a response, streamed, whole or in the background.
 * @throws RequestProblem
 */
export async function createResponse(request: SandboxRequest, service: ResponseService): Promise<Reply> {
  const { store, cache, pacing, seed, clock } = service
  const { body, budget } = request
  checkRequest(body, budget)
  const model = textModel(textOf(body['model']) || defaultTextModel.id)
  const earlier = await earlierItems(body, service)
  const input = resolveReferences(inputItems(body), earlier, { store, budget })
  const items = [...earlier, ...input]
  checkCalls(items)
  const context = fitContext(items, body, model.contextWindow)
  const isBackground = body['background'] === true
  const id = `resp_${seededHex(48, seed, 'responses', request.number, ...store.idSalt(isBackground))}`
  const composed = await composeResponse(request, context.items, { model, id })
  // The reply repeats the request except its input.
  budget.spendOn({ ...body, input: undefined })
  if (wantsLogprobs(body))
    budget.spend(composed.answer.visibleTokens * (topLogprobs(body) + 1) * costOfLogprob)
  const durationMs = isBackground ? pacing.pendingMs + pacing.runningMs : 0
  const plan = planResponse(body, composed, {
    id,
    model: model.id,
    createdAt: Math.floor(clock.now() / 1000),
    completedAt: Math.floor((clock.now() + durationMs) / 1000),
    inputTokens: context.tokens,
    cachedTokens: cache.countCached(cacheGroupOf(body), textsOfRequest(body, context.items)),
  })
  const isStream = body['stream'] === true && !request.ignoresStream
  if (!isStream && plan.breaksOff && !isBackground) {
    throw new RequestProblem(500, '[sandbox] Generation broke off.')
  }
  const timing = { acceptedAt: clock.now(), ...pacing, cancelledAt: null }
  cache.remember(cacheGroupOf(body), textsOfRequest(body, [...context.items, ...outputOf(plan)]))
  const size = request.size + sizeOf(plan)
  const stored = { plan, context: context.items, size, timing: isBackground ? timing : null }
  await store.keep(stored, input)
  if (isStream) return streamOf(stored, { store, clock })
  return jsonReply(responseAt(stored, timing.acceptedAt), {
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
 * The items before the input: the chain of responses, or the conversation. A response without output yet adds none.
 * @throws RequestProblem 404 for a response that is not stored
 */
async function earlierItems(
  body: JsonObject,
  { store, clock }: ResponseService,
): Promise<readonly JsonObject[]> {
  const previous = body['previous_response_id']
  if (typeof previous === 'string') {
    const stored = await store.find(previous)
    if (stored !== undefined) {
      return [...stored.context, ...objectsOf(responseAt(stored, clock.now())['output'])]
    }
    throw new RequestProblem(404, `Previous response with id '${previous}' not found.`, {
      param: 'previous_response_id',
      code: 'previous_response_not_found',
    })
  }
  const id = conversationId(body)
  return id === undefined ? [] : store.conversationItems(id)
}

/** Characters of the pictures in a response, which are kept with it twice. */
function sizeOf({ items }: ResponsePlan): number {
  return items.reduce((sum, { item, partials = [] }) => {
    return sum + 2 * textOf(item['result']).length + partials.join('').length
  }, 0)
}

function outputOf({ items }: ResponsePlan): readonly JsonObject[] {
  return items.map(({ item }) => item)
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
  const stored = await storedResponse(request, service)
  if (stored.timing === null) throw new RequestProblem(400, 'Cannot cancel a synchronous response.')
  return jsonReply(responseAt(await service.store.cancel(stored), service.clock.now()))
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
