import type { IncomingMessage } from 'node:http'
import { createBudget } from '../budget.ts'
import type { FaultTarget, NamedRule } from '../faults/choose.ts'
import { replaceReply } from '../faults/replace-reply.ts'
import { textOf } from '../json-value.ts'
import type { RequestEntry } from '../ledger.ts'
import type { RequestContent, SandboxRequest } from '../request.ts'
import { authenticate } from './authenticate.ts'
import { familyOf, problemReply } from './envelope.ts'
import { assertLocal } from './guard.ts'
import type { Exchanges, Handler } from './handler.ts'
import { RequestProblem } from './problem.ts'
import { readJsonBody } from './read-body.ts'
import type { Reply } from './reply.ts'

export interface Arrival {
  readonly incoming: IncomingMessage
  readonly path: string
  readonly query: URLSearchParams
  readonly number: number
  readonly handler: Handler | undefined
  readonly entry: RequestEntry
  /** Aborted when the client has gone or the sandbox closes. */
  readonly signal: AbortSignal
}

export interface Decision {
  readonly reply: Reply
  /** The fault to play on the reply. */
  readonly fault: NamedRule | undefined
}

/** What to answer: guard, key, early fault, body, fault, endpoint, in this order. Never rejects. */
export async function decide(arrival: Arrival, shared: Exchanges): Promise<Decision> {
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
