import { isUtf8 } from 'node:buffer'
import { isObject } from '../../json.ts'
import { readBytes } from '../http/read-body.ts'
import type { Frame, Reply } from '../http/reply.ts'
import { RequestProblem } from '../http/request-problem.ts'
import { type RecordedRequest, describeRequest } from './recorded-request.ts'
import { resultEndpoint } from './result-urls.ts'
import type { Exchange, Router } from '../sandbox.ts'

export interface ArrivedCall {
  /** The body as it came. */
  readonly bytes: Buffer
  readonly request: RecordedRequest
  readonly asked: Exchange
}

/**
 * Has any request answered, with any body, and without a key of its own.
 * @param own names for fault rules the endpoint of a path, and its model
 */
export function callRouter(own: Router, answer: (call: ArrivedCall) => Promise<Reply>): Router {
  return {
    methods: () => [],
    find(given, path) {
      const found = own.find(given, path)
      // Only the body is left out of the reply to HEAD.
      const method = given === 'HEAD' ? 'GET' : given
      let call: ArrivedCall
      const handler = {
        endpoint: resultEndpoint(path) ?? found?.handler.endpoint ?? 'other',
        needsNoKey: true,
        async readBody(asked: Exchange) {
          if (!['GET', 'POST', 'DELETE'].includes(method) || !path.startsWith('/')) {
            throw new RequestProblem(405, 'Only GET, POST and DELETE are recorded and replayed.')
          }
          const bytes = await readBytes(asked)
          const request = describeRequest(method, asked, bytes)
          asked.body = modelIn(request)
          call = { bytes, request, asked }
        },
        answer: () => answer(call),
      }
      return { handler, params: found?.params ?? {} }
    },
  }
}

/** Larger replies are passed on and not recorded, nor played: they are in memory as a whole. */
export const maxKeptBytes = 256 * 1024 * 1024

/** In an event: it is the one that completes a stream. */
export const completing =
  /"type":\s*"(?:response\.(?:completed|failed|incomplete)|image_(?:generation|edit)\.completed|error)"|"finishReason":/

export function bytesFrame(bytes: Buffer): Frame {
  return { text: '', bytes, pause: 'token', role: 'event' }
}

/** An event as it is sent: as text, which faults can change, if it is text. */
export function eventFrame(bytes: Buffer): Frame {
  if (!isUtf8(bytes)) return bytesFrame(bytes)
  const text = bytes.toString('utf8')
  const role = /^data: ?\[DONE\]/.test(text) ? 'closing' : completing.test(text) ? 'terminal' : 'event'
  return { text, pause: 'token', role }
}

/** Whether a gateway would have billed it. */
export function createsSomething(method: string, path: string, status: number): boolean {
  return method === 'POST' && status < 300 && !path.endsWith('/cancel')
}

export function shortPath(path: string): string {
  return path.replace(/[^\x21-\x7e]/g, '?').slice(0, 200)
}

function modelIn({ body }: RecordedRequest): { readonly model?: unknown } {
  if (body === undefined) return {}
  if ('json' in body) return isObject(body.json) ? { model: body.json['model'] } : {}
  return 'form' in body ? { model: body.form.find(({ name }) => name === 'model')?.value } : {}
}

/** Splits the text of an event stream into its events, each with the blank line that ends it. */
export class EventSplitter {
  /** The event that has begun. */
  open = ''
  /** Its end: the line ends after it may have begun there. */
  #tail = ''

  /**
   * @returns the parts of events in this text, in order, each with the whole event that it completes; the last one may
   *   be the beginning of an event
   */
  push(text: string) {
    const parts: { readonly text: string; readonly event?: string }[] = []
    const all = this.#tail + text
    let start = this.#tail.length
    // Two line ends in a row; a lone CR at the end may be the first half of one. Whether it was shows the next piece.
    for (const { 0: end, index } of all.matchAll(/(?:\r\n|\n|\r(?!\n|$)){2}/g)) {
      const own = all.slice(start, index + end.length)
      parts.push({ text: own, event: this.open + own })
      start = index + end.length
      this.open = ''
      this.#tail = ''
    }
    const rest = all.slice(start)
    if (rest !== '') parts.push({ text: rest })
    this.open += rest
    this.#tail = (this.#tail + rest).slice(-4)
    return parts
  }
}
