import { envelope, jsonType, problemReply } from '../http/envelope.ts'
import type { Family } from '../http/envelope.ts'
import { RequestProblem } from '../http/problem.ts'
import type { Reply } from '../http/reply.ts'
import type { FaultRule } from './rule.ts'

const messages: Readonly<Record<number, string>> = {
  401: 'Incorrect API key provided.',
  408: 'The request took too long.',
  429: 'Rate limit reached.',
  500: 'The server had an error while processing the request.',
  503: 'The engine is overloaded, please try again later.',
}

/**
 * The reply of a fault that answers in place of the endpoint; undefined when the endpoint answers.
 * Nothing is generated for it, so it is no creation.
 */
export function replaceReply(fault: FaultRule, family: Family): Reply | undefined {
  switch (fault.action) {
    case 'status':
      return fault.body === undefined
        ? problemReply(family, standardProblem(fault.status ?? 503, fault.headers))
        : bodyReply(fault, fault.status ?? 503, family)
    case 'html':
      return pageReply(fault)
    case 'error-200':
      return bodyReply(
        { body: envelope(family, standardProblem(500)), ...fault },
        fault.status ?? 200,
        family,
      )
    case 'not-http':
      return bodyReply({ ...fault, body: '' }, 200, family)
    default:
      return undefined
  }
}

function standardProblem(status: number, headers: FaultRule['headers'] = {}): RequestProblem {
  return new RequestProblem(status, messages[status] ?? `The sandbox was told to answer ${status}.`, {
    headers,
  })
}

function bodyReply(fault: Partial<FaultRule>, status: number, family: Family): Reply {
  const isText = typeof fault.body === 'string'
  const text = isText ? String(fault.body) : JSON.stringify(fault.body)
  return wholeReply(status, isText ? 'text/plain; charset=utf-8' : jsonType(family), text)
}

function pageReply({ status = 200, body }: FaultRule): Reply {
  const page =
    '<!doctype html>\n<html><head><title>502 Bad Gateway</title></head>' +
    '<body><h1>502 Bad Gateway</h1><p>sandbox proxy</p></body></html>\n'
  return wholeReply(status, 'text/html; charset=utf-8', typeof body === 'string' ? body : page)
}

function wholeReply(status: number, contentType: string, text: string): Reply {
  return {
    status,
    headers: { 'content-type': contentType },
    frames: [{ text, pause: 'none', role: 'terminal' }],
    isWhole: true,
    creates: false,
    breakOff: () => [],
  }
}
