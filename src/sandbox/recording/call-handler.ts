import { isUtf8 } from 'node:buffer'
import { isObject } from '../../json.ts'
import type { EndpointName } from '../faults/fault-rule.ts'
import { readBytes } from '../http/read-body.ts'
import type { Frame, Reply } from '../http/reply.ts'
import { RequestProblem } from '../http/request-problem.ts'
import { type RecordedRequest, describeRequest } from './recorded-request.ts'
import type { Exchange, Handler, Match } from '../sandbox.ts'

/** A request that is passed on or answered from a recording. */
export interface ArrivedCall {
  /** The body as it came. */
  readonly bytes: Buffer
  readonly request: RecordedRequest
  readonly asked: Exchange
}

export type CallMatcher = (
  method: string,
  path: string,
) => { readonly endpoint: EndpointName; readonly params: Match['params'] }

/** How any request is answered, with any body, and without a key of its own. */
export function callMatch(
  given: string,
  path: string,
  matchOf: CallMatcher,
  answer: (call: ArrivedCall) => Promise<Reply>,
): Match {
  const { endpoint, params } = matchOf(given, path)
  // Only the body is left out of the reply to HEAD.
  const method = given === 'HEAD' ? 'GET' : given
  const { promise: call, resolve } = Promise.withResolvers<ArrivedCall>()
  const handler: Handler = {
    endpoint,
    needsNoKey: true,
    async readBody(asked) {
      if (!isPassed(method) || !path.startsWith('/')) {
        throw new RequestProblem(405, 'Only GET, POST and DELETE are recorded and replayed.')
      }
      const { query, headers } = asked
      const bytes = await readBytes(asked)
      const request = describeRequest({ method, path, query, headers, body: bytes })
      asked.body = modelIn(request)
      resolve({ bytes, request, asked })
    },
    answer: async () => answer(await call),
  }
  return { params, handler }
}

/** What all replies have that are passed on as they arrive. */
export const streamed = { isWhole: false, breakOff: () => [] } as const

/** Larger replies are passed on and not recorded, nor played: they are in memory as a whole. */
export const maxKeptBytes = 256 * 1024 * 1024

const completing =
  /"type":\s*"(?:response\.(?:completed|failed|incomplete)|image_(?:generation|edit)\.completed|error)"|"finishReason":/

/** Whether an event is the one that completes a stream. */
export function isCompleting(event: string): boolean {
  return completing.test(event)
}

export function bytesFrame(bytes: Buffer): Frame {
  return { text: '', bytes, pause: 'token', role: 'event' }
}

/** An event as it is sent: as text, which faults can change, if it is text. */
export function eventFrame(bytes: Buffer): Frame {
  if (!isUtf8(bytes)) return bytesFrame(bytes)
  const text = bytes.toString('utf8')
  const role = /^data: ?\[DONE\]/.test(text) ? 'closing' : isCompleting(text) ? 'terminal' : 'event'
  return { text, pause: 'token', role }
}

/** Whether a gateway would have billed a call. */
export function createsSomething(method: string, path: string, status: number): boolean {
  return method === 'POST' && status < 300 && !path.endsWith('/cancel')
}

export function shortPath(path: string): string {
  return path.replace(/[^\x21-\x7e]/g, '?').slice(0, 200)
}

function isPassed(method: string): method is RecordedRequest['method'] {
  return method === 'GET' || method === 'POST' || method === 'DELETE'
}

/** The field that fault rules look at. */
function modelIn({ body }: RecordedRequest): { readonly model?: unknown } {
  if (body === undefined) return {}
  if ('json' in body) return isObject(body.json) ? { model: body.json['model'] } : {}
  return 'form' in body ? { model: body.form.find(({ name }) => name === 'model')?.value } : {}
}

/** Splits the text of an event stream into its events, each with the blank line that ends it. */
export function createEventSplitter() {
  let pieces: string[] = []
  /** The end of the open event: the line ends after it may have begun there. */
  let tail = ''
  return {
    /**
     * @returns the parts of events in this text, in order, each with the whole event that it completes; the last one may
     *   be the beginning of an event
     */
    push(text: string) {
      const parts: { text: string; event: string | undefined }[] = []
      // Two line ends in a row; a lone CR at the end may be the first half of one.
      const end = /(?:\r\n|\n|\r(?!\n|$)){2}/g
      const all = tail + text
      let start = tail.length
      for (let match = end.exec(all); match !== null; match = end.exec(all)) {
        // Whether a CR at the end of the piece before was a whole line end has shown only now.
        const stop = match.index + match[0].length
        const own = all.slice(start, stop)
        parts.push({ text: own, event: pieces.join('') + own })
        pieces = []
        tail = ''
        start = Math.max(start, stop)
      }
      const rest = all.slice(start)
      if (rest !== '') {
        parts.push({ text: rest, event: undefined })
        pieces.push(rest)
        tail = (tail + rest).slice(-4)
      }
      return parts
    },
    get open() {
      return pieces.join('')
    },
  }
}
