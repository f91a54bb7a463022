import type { IncomingMessage, ServerResponse } from 'node:http'
import type { NamedRule } from '../faults/choose.ts'
import { seededRandom } from '../seeded-random.ts'
import { decide } from './decide.ts'
import { deliver } from './deliver.ts'
import type { Exchanges, Handler } from './handler.ts'
import { paceOf } from './pacing.ts'
import type { Reply } from './reply.ts'

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
