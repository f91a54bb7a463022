import { RequestProblem } from '../http/request-problem.ts'
import { eventHeaders, jsonReply, streamReply, type Reply } from '../http/reply.ts'
import { type JsonObject, objectOf, objectsOf, textOf } from '../json-value.ts'
import { defaultTextModel, textModel } from '../sandbox-models.ts'
import { assertAnswerLimits, type Exchange, type Sandbox } from '../sandbox.ts'
import { seededHex } from '../seeded-random.ts'
import { checkRequest } from './check-request.ts'
import { composeResponse } from './compose-response.ts'
import { cacheGroupOf, fitContext, textsOfRequest } from './context-tokens.ts'
import { checkCalls, inputItems, resolveReferences } from './input-items.ts'
import { conversationId, planResponse, type ResponsePlan } from './plan-response.ts'
import { breakOffEvents, eventFrames, framesInTime, responseEvents } from './response-events.ts'
import { responseAt, type StoredResponse } from './response-store.ts'

/**
 * Endpoint 2: create a response, streamed, whole or in the background.
 * @throws RequestProblem
 */
export async function createResponse(exchange: Exchange): Promise<Reply> {
  const { body, sandbox } = exchange
  const { responses: store, promptCache: cache, seed, clock } = sandbox
  const { pendingMs, runningMs } = sandbox.pacing
  checkRequest(body)
  const model = textModel(textOf(body['model']) || defaultTextModel.id)
  const earlier = await earlierItems(body, sandbox)
  const input = resolveReferences(inputItems(body), earlier, store)
  const items = [...earlier, ...input]
  checkCalls(items)
  const context = fitContext(items, body, model.contextWindow)
  const isBackground = body['background'] === true
  const id = `resp_${seededHex(48, seed, 'responses', exchange.number, ...store.idSalt(isBackground))}`
  const composed = await composeResponse(exchange, context.items, { model, id })
  const durationMs = isBackground ? pendingMs + runningMs : 0
  const plan = planResponse(body, composed, {
    id,
    model: model.id,
    createdAt: Math.floor(clock.now() / 1000),
    completedAt: Math.floor((clock.now() + durationMs) / 1000),
    inputTokens: context.tokens,
    cachedTokens: cache.countCached(cacheGroupOf(body), textsOfRequest(body, context.items)),
  })
  // Each of several events has all of the response.
  assertAnswerLimits(exchange, JSON.stringify([plan.begun, outputOf(plan)], withoutPictures).length)
  const isStream = body['stream'] === true && !exchange.ignoresStream
  if (!isStream && plan.breaksOff && !isBackground) {
    throw new RequestProblem(500, '[sandbox] Generation broke off.')
  }
  const timing = { acceptedAt: clock.now(), pendingMs, runningMs, cancelledAt: null }
  cache.remember(cacheGroupOf(body), textsOfRequest(body, [...context.items, ...outputOf(plan)]))
  const size = exchange.size + sizeOf(plan)
  const stored = { plan, context: context.items, size, timing: isBackground ? timing : null }
  await store.keep(stored, input)
  if (isStream) return streamOf(stored, sandbox)
  return jsonReply(responseAt(stored, timing.acceptedAt), {
    headers: requestId(plan),
    creates: true,
    pause: isBackground ? 'none' : 'first',
  })
}

/** Pictures are limited by their number. */
function withoutPictures(name: string, value: unknown): unknown {
  return name === 'result' ? undefined : value
}

/** The stream of a response, from its start or after a sequence number. */
function streamOf(stored: StoredResponse, { responses, clock }: Sandbox, after = -1): Reply {
  const { plan, timing } = stored
  const obfuscates = objectOf(plan.body['stream_options'])['include_obfuscation'] !== false
  const options = { obfuscates, seed: plan.id }
  const all = eventFrames(responseEvents(plan), { ...options, after: timing === null ? after : -1 })
  return streamReply(timing === null ? all : framesInTime([...all], { timing, after, isStopped, clock }), {
    headers: { ...eventHeaders, ...requestId(plan) },
    breakOff: (sent) => eventFrames(breakOffEvents(plan), { ...options, first: after + 1 + sent }),
  })
  async function isStopped() {
    return (await responses.find(plan.id))?.timing?.cancelledAt !== null
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
  { responses: store, clock }: Sandbox,
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
export async function getResponse(exchange: Exchange): Promise<Reply> {
  const stored = await storedResponse(exchange)
  const { query, ignoresStream, sandbox } = exchange
  if (query.get('stream') !== 'true' || ignoresStream)
    return jsonReply(responseAt(stored, sandbox.clock.now()))
  const after = Number(query.get('starting_after') ?? -1)
  if (Number.isInteger(after)) return { ...streamOf(stored, sandbox, after), creates: false }
  throw new RequestProblem(400, "Invalid 'starting_after': must be a whole number.", {
    param: 'starting_after',
  })
}

/** `POST /v1/responses/{id}/cancel`: for background responses; one that has ended stays as it is. */
export async function cancelResponse(exchange: Exchange): Promise<Reply> {
  const stored = await storedResponse(exchange)
  if (stored.timing === null) throw new RequestProblem(400, 'Cannot cancel a synchronous response.')
  const { sandbox } = exchange
  return jsonReply(responseAt(await sandbox.responses.cancel(stored), sandbox.clock.now()))
}

async function storedResponse({ params, sandbox }: Exchange): Promise<StoredResponse> {
  const id = params['id']!
  const found = await sandbox.responses.find(id)
  if (found === undefined) throw new RequestProblem(404, `Response with id '${id}' not found.`)
  return found
}
