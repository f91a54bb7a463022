import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FaultChooser, NamedRule, FaultTarget } from '../faults/choose.ts'
import type { EndpointName } from '../faults/fault-rule.ts'
import { replaceReply } from '../faults/change-reply.ts'
import type { BoundedMap } from '../bounded-map.ts'
import { createBudget } from '../budget.ts'
import { textOf } from '../json-value.ts'
import type { OpenRecord, RequestLog, RequestRecord } from '../request-log.ts'
import type { RequestContent, SandboxContext, SandboxRequest } from '../request.ts'
import { seededRandom } from '../seeded-random.ts'
import { assertLocal, authenticate } from './access.ts'
import { deliver } from './deliver.ts'
import { envelopeOf, invalidField, problemReply, RequestProblem } from './request-problem.ts'
import type { FirstAnswers } from './idempotency.ts'
import { digestOf } from './request-digest.ts'
import { readJsonBody, type Lock } from './read-body.ts'
import { jsonReply, paceOf, wholeReply, type LatencyProfile, type Reply } from './reply.ts'

/** One endpoint. */
export interface Handler {
  readonly endpoint: EndpointName
  /** Whether a request without a key is accepted. */
  readonly needsNoKey?: true
  /** Whether a request with a known `Idempotency-Key` is answered like any other. */
  readonly ignoresIdempotency?: true
  /**
   * Reads a body that is not JSON, such as a form; undefined for one that is.
   * @param acquireLock awaited before a large body is kept in memory
   */
  readBody?(incoming: IncomingMessage, acquireLock: () => Promise<void>): Promise<RequestContent> | undefined
  answer(request: SandboxRequest): Reply | Promise<Reply>
}

/** The endpoint of a path, and the parameters of its route: `id`, `model`. */
export interface Match {
  readonly handler: Handler
  readonly params: Readonly<Record<string, string>>
}

/** The endpoints. Paths have no escapes of characters that need none. */
export interface Router {
  find(method: string, path: string): Match | undefined
  /** The methods that a path takes, for `Allow`; none for an unknown path. */
  methods(path: string): readonly string[]
}

/** The state shared by all requests to a sandbox. */
export interface ServerContext extends SandboxContext {
  /** Of the machine: whether files that are open hinder replacing them. */
  readonly platform: NodeJS.Platform
  readonly latency: LatencyProfile
  /** Whether the folder keeps all stored responses, and not only those in the background. */
  readonly keepsAllResponses: boolean
  readonly faults: FaultChooser
  readonly log: RequestLog
  /** How often each request was answered, so that every answer to a repeated one can be another. */
  readonly repetitions: BoundedMap<number>
  readonly firstAnswers: FirstAnswers
  /** Held by the request whose large body is being read and answered. */
  readonly largeBodies: Lock
  /** Aborted when the sandbox closes. */
  readonly signal: AbortSignal
  readonly onRequest: ((record: RequestRecord) => void) | undefined
  /** How recordings are made or used, for the statistics. */
  readonly recordings: () => object | undefined
}

/** The path of the statistics. Requests to it are not counted and need no key. */
const statsPath = '/sandbox/stats'

/**
 * One request from its arrival to the last byte of its reply: guard, key, fault, body, endpoint, delivery, log.
 */
export async function handleRequest(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  router: Router,
  server: ServerContext,
): Promise<void> {
  const { log, seed, clock } = server
  const { method = 'GET', url = '/' } = incoming
  const at = url.indexOf('?')
  const rawPath = plainPath(at === -1 ? url : url.slice(0, at))
  const left = new AbortController()
  outgoing.once('close', () => left.abort())
  const signal = AbortSignal.any([left.signal, server.signal])
  const connection = { outgoing, clock, pace: () => 0, signal }
  if ((method === 'GET' || method === 'HEAD') && rawPath === statsPath)
    return deliver(connection, statsReply(incoming, server))
  const path = copyOf(rawPath.slice(0, maxPathLength).replace(/[^\x21-\x7e]/g, '?'))
  const { record, number } = log.open(method, path, clock.monotonic())
  const query = new URLSearchParams(at === -1 ? '' : url.slice(at + 1))
  const match = router.find(method, rawPath)
  const allowed = match === undefined ? router.methods(rawPath) : []
  const arrival = { incoming, path, query, number, match, allowed, record, signal }
  const { reply, fault } = await decide(arrival, server)
  if (fault !== undefined) log.addFault({ id: fault.id, action: fault.action, method, path })
  record.fault = fault?.id
  // A request counts as a creation once it is accepted, whatever happens to its reply.
  const isAccepted = fault?.accepted ?? (reply.creates && fault?.at !== 'before-body')
  record.created = match !== undefined && isAccepted && !record.repeats
  if (record.repeats) log.countRepeat()
  if (match !== undefined && record.created) log.countCreation(match.handler.endpoint)
  const pace = paceOf(server.latency, seededRandom(seed, 'pace', number))
  await deliver({ ...connection, pace }, reply, fault)
  record.repliedAt = clock.monotonic()
  record.status = outgoing.headersSent ? outgoing.statusCode : undefined
  server.onRequest?.(record)
}

/** A path without escapes of characters that need none (RFC 3986, section 6.2.2.2), and of the colon. */
function plainPath(path: string): string {
  return path.replace(/%([2-7][\da-f])/gi, (escape, digits: string) => {
    const character = String.fromCharCode(Number.parseInt(digits, 16))
    return /[\w.~:-]/.test(character) ? character : escape
  })
}

/** Maximum length of a recorded path. No endpoint has a longer one. */
const maxPathLength = 2048

interface Arrival {
  readonly incoming: IncomingMessage
  readonly path: string
  /** May contain a key, so it is neither stored nor logged. */
  readonly query: URLSearchParams
  readonly number: number
  readonly match: Match | undefined
  /** The methods that the path takes, if this one is not among them. */
  readonly allowed: readonly string[]
  readonly record: OpenRecord
  /** Aborted when the client has gone or the sandbox closes. */
  readonly signal: AbortSignal
}

interface Decision {
  readonly reply: Reply
  /** The fault to inject into the reply. */
  readonly fault: NamedRule | undefined
}

/** Answers in this order: guard, key, early fault, body, fault, endpoint. Never rejects. */
async function decide(arrival: Arrival, server: ServerContext): Promise<Decision> {
  const { incoming, path, query, record } = arrival
  const { faults, largeBodies } = server
  const envelope = envelopeOf(path, incoming.headers)
  let fault: NamedRule | undefined
  let release = () => {}
  const acquireLock = async () => {
    release = await largeBodies()
  }
  try {
    assertLocal(incoming)
    if (incoming.method === 'OPTIONS' && arrival.allowed.length > 0) {
      return { fault, reply: wholeReply([], undefined, { headers: allow(arrival) }) }
    }
    const match = admit(arrival)
    const target = targetOf(match, incoming)
    Object.assign(record, target)
    fault = faults.beforeBody(target)
    if (fault !== undefined)
      return { fault, reply: replaceReply(fault, envelope) ?? wholeReply([], undefined) }
    const content = await readContent(incoming, match.handler, acquireLock)
    const model = target.model ?? (textOf(content.body['model']) || undefined)
    assertShort(model)
    record.model = model
    fault = faults.afterBody({ ...target, model })
    const replacement = fault && replaceReply(fault, envelope)
    if (replacement !== undefined && fault?.accepted !== true) return { fault, reply: replacement }
    const own = await answer(arrival, match, content, fault, server)
    record.repeats = own.repeats === true
    return { fault, reply: replacement ?? own }
  } catch (error) {
    const problem = error instanceof RequestProblem ? error : unexpected(error)
    return { fault, reply: problemReply(envelope, problem, query.get('alt') === 'sse') }
  } finally {
    release()
  }
}

/** @throws RequestProblem 401, 404 or 405 */
function admit(arrival: Arrival): Match {
  const { incoming, path, query, match, allowed } = arrival
  if (!match?.handler.needsNoKey) authenticate(incoming.headers, query, envelopeOf(path, incoming.headers))
  if (match !== undefined) return match
  if (allowed.length === 0) throw new RequestProblem(404, `Invalid URL (${incoming.method} ${path})`)
  throw new RequestProblem(405, `Not allowed to ${incoming.method} on ${path}.`, {
    code: 'method_not_supported',
    headers: allow(arrival),
  })
}

function allow({ allowed }: Arrival): Record<string, string> {
  return { allow: allowed.join(', ') }
}

/** Maximum length of a model's name and of an idempotency key, since thousands are remembered. */
const maxNameLength = 256

/** @throws RequestProblem 400 */
function assertShort(model: string | undefined): void {
  if (model === undefined || model.length <= maxNameLength) return
  throw invalidField('model', `must have at most ${maxNameLength} characters in the sandbox`)
}

function targetOf({ handler, params }: Match, incoming: IncomingMessage): FaultTarget {
  const { model } = params
  assertShort(model)
  const key = keyOf(incoming)?.slice(0, maxNameLength)
  return {
    endpoint: handler.endpoint,
    model: model === undefined ? undefined : copyOf(model),
    idempotencyKey: key === undefined ? undefined : copyOf(key),
  }
}

/** A part of a text that is kept longer: the engine's own would keep all of the text, an address of 100,000 bytes. */
function copyOf(part: string): string {
  return Buffer.from(part).toString()
}

/**
 * Has the endpoint answer, once for an `Idempotency-Key`.
 * @throws RequestProblem
 */
function answer(
  arrival: Arrival,
  { handler, params }: Match,
  content: RequestContent,
  fault: NamedRule | undefined,
  server: ServerContext,
): Promise<Reply> {
  const { incoming, path, query, number } = arrival
  const isPost = incoming.method === 'POST'
  const identity = digestOf([path, [...query].filter(([name]) => name !== 'key'), content.digest])
  const key = isPost && !handler.ignoresIdempotency ? keyOf(incoming) : undefined
  const ignoresStream = fault?.action === 'ignore-stream'
  const { headers } = incoming
  const origin = `http://${headers.host}`
  // What others may ask for again is made to its end.
  const signal = key === undefined ? arrival.signal : server.signal
  const make = async () => {
    const seed = isPost ? seedOf(identity, server) : [server.seed]
    const budget = createBudget()
    const fixed = { params, query, headers, origin, number, seed, budget, signal, ignoresStream }
    return handler.answer({ ...content, ...fixed })
  }
  return key === undefined ? make() : server.firstAnswers.give(digestOf(key), identity, make)
}

/** The first of identical requests has the sandbox's seed: a fresh sandbox always gives the same first answer. */
function seedOf(identity: string, { seed, repetitions }: ServerContext): SandboxRequest['seed'] {
  const earlier = repetitions.get(identity) ?? 0
  repetitions.set(identity, earlier + 1)
  return earlier === 0 ? [seed] : [seed, 'repetition', earlier]
}

function keyOf({ headers }: IncomingMessage): string | undefined {
  const key = headers['idempotency-key']
  return Array.isArray(key) ? key[0] : key
}

async function readContent(
  incoming: IncomingMessage,
  { endpoint, readBody }: Handler,
  acquireLock: () => Promise<void>,
): Promise<RequestContent> {
  if (incoming.method !== 'POST') return { body: {}, files: [], size: 0, digest: '' }
  const other = readBody?.(incoming, acquireLock)
  if (other !== undefined) return other
  return readJsonBody(incoming, { mayBeEmpty: endpoint === 'response-cancel', acquireLock })
}

function unexpected(error: unknown): RequestProblem {
  // The client disconnected while its body was read; no reply is needed.
  if ((error as NodeJS.ErrnoException).code === 'ECONNRESET')
    return new RequestProblem(499, 'The client has gone.')
  return new RequestProblem(500, `The sandbox failed: ${(error as Error).message}`)
}

/** The statistics, for tests in other processes. */
function statsReply(incoming: IncomingMessage, { log, recordings }: ServerContext): Reply {
  try {
    assertLocal(incoming)
    return jsonReply({ ...log.stats(), recordings: recordings() })
  } catch (error) {
    return problemReply('openai', error as RequestProblem)
  }
}
