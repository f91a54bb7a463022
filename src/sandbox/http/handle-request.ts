import type { IncomingMessage, ServerResponse } from 'node:http'
import { faultActions } from '../faults/actions.ts'
import type { FaultRule } from '../faults/fault-rule.ts'
import { deliver } from './deliver.ts'
import { readJsonBody } from './read-body.ts'
import { type Reply, jsonReply, wholeReply } from './reply.ts'
import { RequestProblem, invalidField, problemReply } from './request-problem.ts'
import { digestOf, textOf } from '../json-value.ts'
import type { RequestRecord } from '../request-log.ts'
import {
  copyOf,
  maxNameLength,
  createExchange,
  type Exchange,
  type Handler,
  type Router,
  type SandboxState,
} from '../sandbox.ts'

/** @returns the record of the request; undefined for one that is not counted */
export async function handleRequest(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  router: Router,
  sandbox: SandboxState,
): Promise<RequestRecord | undefined> {
  const { log, clock } = sandbox
  const exchange = createExchange(incoming, outgoing, sandbox)
  const { record } = exchange
  const isCounted = !isAboutStats(exchange)
  if (isCounted) exchange.number = log.add(record)
  const reply = await decide(exchange, router)
  const { fault } = exchange
  record.fault = fault?.id
  // A request counts as a creation once it is accepted, whatever happens to its reply.
  const isAccepted = fault?.accepted ?? (reply.creates && fault?.at !== 'before-body')
  record.created = record.endpoint !== undefined && isAccepted && !record.repeats
  if (isCounted) log.count(record, fault)
  await deliver(exchange, reply)
  record.repliedAt = clock.monotonic()
  record.status = outgoing.headersSent ? outgoing.statusCode : undefined
  return isCounted ? record : undefined
}

/** Requests for the statistics, of tests in other processes, are not counted and need no key. */
function isAboutStats({ method, path }: Exchange): boolean {
  return path === '/sandbox/stats' && ['GET', 'HEAD'].includes(method)
}

/** Answers in this order: guard, key, early fault, body, fault, endpoint. Never rejects. */
async function decide(exchange: Exchange, router: Router): Promise<Reply> {
  const { incoming, record, envelope, method, path, query, sandbox } = exchange
  const replacement = (fault: FaultRule | undefined) =>
    fault && faultActions[fault.action].replace?.(fault, envelope)
  try {
    assertLocal(incoming)
    if (isAboutStats(exchange)) {
      return jsonReply({ ...sandbox.log.stats(), recordings: sandbox.recordings() })
    }
    const match = router.find(method, path)
    if (!match?.handler.needsNoKey) authenticate(exchange)
    if (match === undefined) throw notOffered(record, router.methods(path).join(', '))
    exchange.params = match.params
    record.endpoint = match.handler.endpoint
    record.model = nameOf(match.params['model'])
    const early = sandbox.chooseFault(record, true)
    exchange.fault = early
    if (early !== undefined) return replacement(early) ?? wholeReply([], undefined)
    await (match.handler.readBody ?? (method === 'POST' ? readJsonBody : undefined))?.(exchange)
    record.model ??= nameOf(textOf(exchange.body['model']))
    const fault = sandbox.chooseFault(record, false)
    exchange.fault = fault
    const replaced = replacement(fault)
    if (replaced !== undefined && fault?.accepted !== true) return replaced
    const own = await answer(exchange, match.handler)
    record.repeats = own.repeats === true
    return replaced ?? own
  } catch (error) {
    const { message } = error as Error
    const problem =
      error instanceof RequestProblem ? error : new RequestProblem(500, `The sandbox failed: ${message}`)
    return problemReply(envelope, problem, query.get('alt') === 'sse')
  }
}

function notOffered({ method, path }: RequestRecord, allow: string): RequestProblem {
  if (allow === '') return new RequestProblem(404, `Invalid URL (${method} ${path})`)
  return new RequestProblem(405, `Not allowed to ${method} on ${path}.`, {
    code: 'method_not_supported',
    headers: { allow },
  })
}

function nameOf(model = ''): string | undefined {
  if (model.length > maxNameLength)
    throw invalidField('model', `must have at most ${maxNameLength} characters in the sandbox`)
  return model === '' ? undefined : copyOf(model)
}

/** Has the endpoint answer, once for an `Idempotency-Key`. */
async function answer(exchange: Exchange, handler: Handler): Promise<Reply> {
  const { sandbox, method, path, query } = exchange
  if (method !== 'POST') return handler.answer(exchange)
  const identity = digestOf([path, [...query].filter(([name]) => name !== 'key'), exchange.digest])
  const key = handler.needsNoKey ? undefined : exchange.idempotencyKey
  exchange.outlivesClient = key !== undefined
  const make = async () => {
    const { seed, repetitions } = sandbox
    const earlier = repetitions.get(identity) ?? 0
    repetitions.set(identity, earlier + 1)
    // A fresh sandbox always gives the same first answer.
    exchange.seed = earlier === 0 ? [seed] : [seed, 'repetition', earlier]
    return handler.answer(exchange)
  }
  return key === undefined ? make() : sandbox.answerOnce(digestOf(key), identity, make)
}

/** For testing rejections. */
const refusedKey = 'invalid'

/** The specification requires `Authorization: Bearer`; Google's own clients send `x-goog-api-key` or `?key=`. */
function authenticate({ headers, query, envelope }: Exchange): void {
  const bearer = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1]
  const google = envelope === 'google' ? (headers['x-goog-api-key'] ?? query.get('key')) : undefined
  const key = bearer ?? (google || undefined)
  const refusal = (message: string, reason: string, code?: string) =>
    new RequestProblem(401, message, {
      headers: { 'www-authenticate': 'Bearer realm="modelgate sandbox"' },
      details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'modelgate.sandbox' }],
      ...(code !== undefined && { code }),
    })
  if (key === undefined) {
    const message = 'You did not provide an API key. Send it as "Authorization: Bearer API_KEY".'
    throw refusal(message, 'CREDENTIALS_MISSING')
  }
  if (key === refusedKey) throw refusal('Incorrect API key provided.', 'API_KEY_INVALID', 'invalid_api_key')
}

/** What a page may embed from other sites: it cannot read these, and their URLs carry a signature or a key. */
const shown = new Set(['document', 'image', 'video'])

/**
 * Rejects requests from web pages: a page of another site could reach a server on loopback directly (`Origin`, or
 * `Sec-Fetch-Site` where a browser sends no origin) or through a host name that resolves to it (DNS rebinding,
 * `Host`). Replies have no CORS headers either.
 * @throws RequestProblem 403; 400 for more than one `Host` (RFC 9112, section 3.2)
 */
function assertLocal({ headers, headersDistinct }: IncomingMessage): void {
  const fromPage = (sign: string) =>
    new RequestProblem(403, `The sandbox does not answer web pages (the request has ${sign}).`)
  if (headers.origin !== undefined) throw fromPage('an Origin header')
  const { 'sec-fetch-site': site = 'none', 'sec-fetch-dest': destination } = headers
  if (!['none', 'same-origin'].includes(String(site)) && !shown.has(String(destination)))
    throw fromPage('the Sec-Fetch-Site of another page')
  if ((headersDistinct['host'] ?? []).length > 1)
    throw new RequestProblem(400, 'The request has more than one Host header.')
  const host = (headers.host ?? '').replace(/:\d+$/, '').toLowerCase()
  if (!['127.0.0.1', 'localhost', '[::1]'].includes(host)) {
    throw new RequestProblem(403, 'The sandbox answers only as 127.0.0.1 or localhost.')
  }
}
