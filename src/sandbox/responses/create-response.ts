import { type Frame, type Reply, eventHeaders, jsonReply, namedEvent, streamReply } from '../http/reply.ts'
import { brokeOff, RequestProblem } from '../http/request-problem.ts'
import { type JsonObject, objectsOf, textOf } from '../json-value.ts'
import { buildResponse, conversationId } from './build-response.ts'
import { checkRequest } from './check-request.ts'
import { checkCalls, fitContext, inputItems, resolveReferences } from './input.ts'
import { itemEvents } from './output-items.ts'
import { type StoredResponse, begunOf, isBackground, responseAt } from './response-store.ts'
import type { Exchange, SandboxState } from '../sandbox.ts'
import { seededHex } from '../seeded-random.ts'

/** Endpoint 2: create a response, streamed, whole or in the background. */
export async function createResponse(exchange: Exchange): Promise<Reply> {
  const { body, sandbox } = exchange
  const { responses } = sandbox
  checkRequest(body)
  const earlier = await earlierItems(exchange)
  const input = resolveReferences(inputItems(body), earlier, responses.findItem)
  checkCalls([...earlier, ...input])
  const stored = await buildResponse(exchange, fitContext([...earlier, ...input], body))
  const isStream = body['stream'] === true && !exchange.ignoresStream
  if (!isStream && stored.breaksOff && !isBackground(stored.response)) throw brokeOff
  await responses.keep(stored, input)
  if (isStream) return streamOf(stored, sandbox)
  return jsonReply(responseAt(stored, stored.acceptedAt), {
    headers: requestId(stored.id),
    creates: true,
    pause: isBackground(stored.response) ? 'none' : 'first',
  })
}

function streamOf(stored: StoredResponse, sandbox: SandboxState, after = -1): Reply {
  const frames = eventFrames(stored, responseEvents(stored))
  return streamReply(
    isBackground(stored.response) ? framesInTime(stored, frames, sandbox, after) : frames.drop(after + 1),
    {
      headers: { ...eventHeaders, ...requestId(stored.id) },
      breakOff: (sent) => eventFrames(stored, breakOffEvents(stored), after + 1 + sent),
    },
  )
}

function requestId(id: string): Record<string, string> {
  return { 'x-request-id': `req_${seededHex(32, id)}` }
}

/** The items before the input: the chain of responses, or the conversation. */
async function earlierItems({ body, sandbox }: Exchange): Promise<readonly JsonObject[]> {
  const { responses, clock } = sandbox
  const previous = body['previous_response_id']
  if (typeof previous !== 'string') {
    const id = conversationId(body)
    return id === undefined ? [] : responses.conversationItems(id)
  }
  const stored = await responses.find(previous)
  if (stored !== undefined) {
    return [...stored.context, ...objectsOf(responseAt(stored, clock.now())['output'])]
  }
  const facts = { param: 'previous_response_id', code: 'previous_response_not_found' }
  throw new RequestProblem(404, `Previous response with id '${previous}' not found.`, facts)
}

/** `GET /v1/responses/{id}`, with `?stream=true&starting_after=N` the rest of its stream. */
export async function getResponse(exchange: Exchange): Promise<Reply> {
  const stored = await storedResponse(exchange)
  const { query, ignoresStream, sandbox } = exchange
  if (query.get('stream') !== 'true' || ignoresStream)
    return jsonReply(responseAt(stored, sandbox.clock.now()))
  const after = Math.max(-1, Number(query.get('starting_after') ?? -1))
  if (Number.isInteger(after)) return { ...streamOf(stored, sandbox, after), creates: false }
  const message = "Invalid 'starting_after': must be a whole number."
  throw new RequestProblem(400, message, { param: 'starting_after' })
}

/** `POST /v1/responses/{id}/cancel`: for background responses; one that has ended stays as it is. */
export async function cancelResponse(exchange: Exchange): Promise<Reply> {
  const stored = await storedResponse(exchange)
  if (!isBackground(stored.response)) throw new RequestProblem(400, 'Cannot cancel a synchronous response.')
  const { responses, clock } = exchange.sandbox
  return jsonReply(responseAt(await responses.cancel(stored), clock.now()))
}

async function storedResponse({ params, sandbox }: Exchange): Promise<StoredResponse> {
  const id = params['id']!
  const found = await sandbox.responses.find(id)
  if (found === undefined) throw new RequestProblem(404, `Response with id '${id}' not found.`)
  return found
}

const terminals = new Set(['response.completed', 'response.incomplete', 'response.failed'])

const deltasBeforeError = 5

/** The whole stream of a response (wire notes, section 2, "Event types"). */
function* responseEvents(stored: StoredResponse): Generator<JsonObject> {
  const { response, items, breaksOff } = stored
  const at = (status: string) => ({ response: { ...begunOf(response), status } })
  // First in either case: the official client begins with it.
  yield { type: 'response.created', ...at(isBackground(response) ? 'queued' : 'in_progress') }
  if (isBackground(response)) yield { type: 'response.queued', ...at('queued') }
  yield { type: 'response.in_progress', ...at('in_progress') }
  let deltas = 0
  for (const event of items.values().flatMap(itemEvents)) {
    if (breaksOff && textOf(event['type']).endsWith('.delta') && ++deltas > deltasBeforeError) break
    yield event
  }
  if (breaksOff) yield* breakOffEvents(stored)
  else yield { type: `response.${textOf(response['status'])}`, response }
}

/** As recorded: an error that is nested, and has the documented fields, immediately followed by the failed response. */
function breakOffEvents({ response }: StoredResponse): readonly JsonObject[] {
  const problem = { code: 'server_error', message: brokeOff.message }
  const error = { type: 'server_error', ...problem }
  return [
    { type: 'error', ...problem, param: null, error: { ...error, param: null } },
    { type: 'response.failed', response: { ...begunOf(response), status: 'failed', error } },
  ]
}

/** A built-in tool takes its time before each of these. */
const working = /_call\.(searching|interpreting|generating|partial_image|completed)$/

/** Events as frames, named and numbered, with padded deltas. */
function* eventFrames({ id, pads }: StoredResponse, events: Iterable<JsonObject>, first = 0) {
  let sequence_number = first
  let hasStarted = false
  for (const { type, ...rest } of events) {
    const name = textOf(type)
    const isDelta = name.endsWith('.delta')
    const pause = isDelta && hasStarted ? 'token' : isDelta || working.test(name) ? 'first' : 'none'
    hasStarted ||= isDelta
    const data = { type, sequence_number, ...rest, ...(isDelta && pads && paddingOf(id, sequence_number)) }
    yield namedEvent(name, data, pause, terminals.has(name) ? 'terminal' : 'event')
    sequence_number++
  }
}

function paddingOf(id: string, number: number) {
  const digits = seededHex(16, 'obfuscation', id, number)
  return { obfuscation: digits.slice(Number.parseInt(digits[0]!, 16)) }
}

/** Every event when it is due, whoever reads it and from where; none after the response is cancelled or dropped. */
async function* framesInTime(
  { id, acceptedAt, pendingMs, runningMs }: StoredResponse,
  frames: Iterable<Frame>,
  { responses, clock }: SandboxState,
  after: number,
): AsyncGenerator<Frame> {
  const all = [...frames]
  for (const [number, frame] of [...all.entries()].slice(after + 1)) {
    if ((await responses.find(id))?.isCancelled !== false) return
    // The first two say that it is queued, the next that it begins.
    const share = Math.max(0, (number - 2) / Math.max(1, all.length - 3))
    const dueAt = acceptedAt + (number < 2 ? 0 : pendingMs + runningMs * share)
    yield { ...frame, pause: Math.max(0, dueAt - clock.now()) }
  }
}
