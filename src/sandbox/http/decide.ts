import type { IncomingMessage, ServerResponse, IncomingHttpHeaders } from 'node:http'
import type { NamedRule, FaultTarget } from '../faults/choose.ts'
import { seededRandom } from '../seeded-random.ts'
import { deliver } from './deliver.ts'
import type { Exchanges, Handler } from './handler.ts'
import { paceOf, type Reply } from './reply.ts'
import { createBudget } from '../budget.ts'
import { replaceReply } from '../faults/replace-reply.ts'
import { textOf } from '../json-value.ts'
import type { RequestEntry } from '../ledger.ts'
import type { RequestContent, SandboxRequest } from '../request.ts'
import { familyOf, problemReply, RequestProblem, type Family } from './problem.ts'
import { readJsonBody } from './read-body.ts'

/**
 * One request from its arrival to the last byte of its reply: guard, key, fault, body, endpoint, delivery, log.
 * @param handler undefined where no endpoint lives: 404 in the family's envelope
 */
export async function exchange(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  handler: Handler | undefined,
  shared: Exchanges,
): Promise<void> {
  const { path, query } = locate(incoming)
  const { ledger, seed, clock } = shared
  const method = incoming.method ?? 'GET'
  const entry = ledger.open(method, path)
  const number = shared.nextNumber()
  const left = new AbortController()
  outgoing.once('close', () => left.abort())
  const line = {
    outgoing,
    clock,
    pace: paceOf(shared.latency, seededRandom(seed, 'pace', number)),
    signal: AbortSignal.any([left.signal, shared.signal]),
  }
  const arrival = { incoming, path, query, number, handler, entry, signal: line.signal }
  const { reply, fault } = await decide(arrival, shared)
  if (fault !== undefined) ledger.noteFault({ id: fault.id, action: fault.action, method, path })
  const created = handler !== undefined && (fault?.accepted ?? countsAsCreation(reply, fault))
  if (created) ledger.countCreation(handler.endpoint)
  entry.update({ created, fault: fault?.id })
  await deliver(line, reply, fault)
  const record = entry.update({ status: outgoing.headersSent ? outgoing.statusCode : undefined })
  shared.onRequest?.(record)
}

/** Of a path, so much is remembered. No endpoint has a longer one. */
const longestPath = 2048

/** Path and query apart: a query may hold a key and is neither kept nor logged. */
function locate({ url = '/' }: IncomingMessage): { readonly path: string; readonly query: URLSearchParams } {
  const at = url.indexOf('?')
  const path = (at === -1 ? url : url.slice(0, at)).slice(0, longestPath).replace(/[^\x21-\x7e]/g, '?')
  return { path, query: new URLSearchParams(at === -1 ? '' : url.slice(at + 1)) }
}

/** A request counts once it is accepted for generation, whatever becomes of its reply afterwards. */
function countsAsCreation(reply: Reply, fault: NamedRule | undefined): boolean {
  return reply.creates && fault?.at !== 'before-body'
}

interface Arrival {
  readonly incoming: IncomingMessage
  readonly path: string
  readonly query: URLSearchParams
  readonly number: number
  readonly handler: Handler | undefined
  readonly entry: RequestEntry
  /** Aborted when the client has gone or the sandbox closes. */
  readonly signal: AbortSignal
}

interface Decision {
  readonly reply: Reply
  /** The fault to play on the reply. */
  readonly fault: NamedRule | undefined
}

/** What to answer: guard, key, early fault, body, fault, endpoint, in this order. Never rejects. */
async function decide(arrival: Arrival, shared: Exchanges): Promise<Decision> {
  const { path, query } = arrival
  const family = familyOf(path)
  let struck: NamedRule | undefined
  try {
    const handler = admit(arrival)
    const target = targetOf(handler, arrival)
    struck = shared.faults.beforeBody(target)
    if (struck !== undefined) return { fault: struck, reply: replaceReply(struck, family) ?? nothing }
    const content = await contentOf(arrival.incoming, handler)
    const model = target.model ?? (textOf(content.body['model']) || undefined)
    assertShort(model)
    arrival.entry.update({ model })
    struck = shared.faults.afterBody({ ...target, model })
    return {
      fault: struck,
      reply:
        (struck && replaceReply(struck, family)) ??
        (await handler.answer(requestOf(arrival, content, struck))),
    }
  } catch (error) {
    const problem = error instanceof RequestProblem ? error : unexpected(error)
    return { fault: struck, reply: problemReply(family, problem, query.get('alt') === 'sse') }
  }
}

/** @throws RequestProblem 403, 401 or 404 */
function admit({ incoming, path, query, handler }: Arrival): Handler {
  assertLocal(incoming.headers)
  if (!handler?.needsNoKey) authenticate(incoming.headers, query, familyOf(path))
  if (handler === undefined) throw new RequestProblem(404, `Invalid URL (${incoming.method} ${path})`)
  return handler
}

/** Characters of a model's name and of a key, of which thousands are remembered. */
const longestName = 256

/** @throws RequestProblem 400 */
function assertShort(model: string | undefined): void {
  if (model === undefined || model.length <= longestName) return
  throw new RequestProblem(
    400,
    `Invalid 'model': must have at most ${longestName} characters in the sandbox.`,
    {
      param: 'model',
      code: 'invalid_value',
    },
  )
}

function targetOf({ endpoint, model }: Handler, { incoming, entry }: Arrival): FaultTarget {
  const key = incoming.headers['idempotency-key']
  const idempotencyKey = (Array.isArray(key) ? key[0] : key)?.slice(0, longestName)
  assertShort(model)
  entry.update({ endpoint, model, idempotencyKey })
  return { endpoint, model, idempotencyKey }
}

function requestOf(
  { incoming, query, number, signal }: Arrival,
  content: RequestContent,
  struck: NamedRule | undefined,
): SandboxRequest {
  const ignoresStream = struck?.action === 'ignore-stream'
  const { range: _, ...others } = incoming.headers
  const headers = struck?.action === 'ignore-range' ? others : incoming.headers
  return { ...content, query, headers, number, budget: createBudget(), signal, ignoresStream }
}

async function contentOf(incoming: IncomingMessage, handler: Handler): Promise<RequestContent> {
  if (incoming.method !== 'POST') return { body: {}, files: [], size: 0 }
  if (handler.readContent !== undefined) return handler.readContent(incoming)
  // Look-ups and cancellations may come with an empty body.
  return readJsonBody(incoming, handler.endpoint === 'response-lookup' ? {} : undefined)
}

function unexpected(error: unknown): RequestProblem {
  // The client left while its body was read; there is nobody to tell.
  if ((error as NodeJS.ErrnoException).code === 'ECONNRESET')
    return new RequestProblem(499, 'The client has gone.')
  return new RequestProblem(500, `The sandbox failed: ${(error as Error).message}`)
}

const nothing: Reply = {
  status: 200,
  headers: {},
  frames: [],
  isWhole: true,
  creates: false,
  breakOff: () => [],
}

/** The one key that is refused, so that a refusal can be tried. */
const refusedKey = 'invalid'

/**
 * Accepts any key but `invalid`. The specification asks for `Authorization: Bearer`; Google's own clients send
 * `x-goog-api-key` or `?key=` and are served as well. Keys are compared and forgotten, never kept or echoed.
 * @throws RequestProblem 401
 */
function authenticate(headers: IncomingHttpHeaders, query: URLSearchParams, family: Family): void {
  const bearer = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1]
  const google = family === 'google' ? (headers['x-goog-api-key'] ?? query.get('key')) : undefined
  const key = bearer ?? (google || undefined)
  if (key === undefined) {
    throw new RequestProblem(
      401,
      'You did not provide an API key. Send it as "Authorization: Bearer API_KEY".',
      refusal('CREDENTIALS_MISSING'),
    )
  }
  if (key === refusedKey) {
    throw new RequestProblem(401, 'Incorrect API key provided.', {
      ...refusal('API_KEY_INVALID'),
      code: 'invalid_api_key',
    })
  }
}

function refusal(reason: string) {
  return {
    headers: { 'www-authenticate': 'Bearer realm="modelgate sandbox"' },
    details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'modelgate.sandbox' }],
  }
}

/**
 * Keeps web pages out: a page of another site could reach a server on loopback by itself (`Origin`)
 * or by a host name that resolves to it (DNS rebinding, `Host`). No reply carries CORS headers either.
 * @throws RequestProblem 403
 */
export function assertLocal(headers: IncomingHttpHeaders): void {
  if (headers.origin !== undefined) {
    throw new RequestProblem(403, 'The sandbox does not answer web pages (the request has an Origin header).')
  }
  const host = (headers.host ?? '').replace(/:\d+$/, '').toLowerCase()
  if (!['127.0.0.1', 'localhost', '[::1]'].includes(host)) {
    throw new RequestProblem(403, 'The sandbox answers only as 127.0.0.1 or localhost.')
  }
}
