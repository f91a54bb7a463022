import { errorBody, problemReply, RequestProblem, type Envelope } from '../http/request-problem.ts'
import { googleJsonType, wholeReply, type Reply, type Frame, type Frames } from '../http/reply.ts'
import type { FaultRule } from './fault-rule.ts'

const messages: Readonly<Record<number, string>> = {
  401: 'Incorrect API key provided.',
  408: 'The request took too long.',
  429: 'Rate limit reached.',
  500: 'The server had an error while processing the request.',
  503: 'The engine is overloaded, please try again later.',
}

const page =
  '<!doctype html>\n<html><head><title>502 Bad Gateway</title></head>' +
  '<body><h1>502 Bad Gateway</h1><p>sandbox proxy</p></body></html>\n'

/**
 * The reply of a fault that answers in place of the endpoint; undefined if the endpoint answers. It generates nothing,
 * so it is not counted as a creation.
 */
export function replaceReply({ action, status, body }: FaultRule, envelope: Envelope): Reply | undefined {
  switch (action) {
    case 'status':
      return body === undefined
        ? problemReply(envelope, standardProblem(status ?? 503))
        : bodyReply(body, status ?? 503, envelope)
    case 'html':
      return wholeReply(typeof body === 'string' ? body : page, 'text/html; charset=utf-8', {
        status: status ?? 200,
      })
    case 'error-200':
      return bodyReply(body ?? errorBody(envelope, standardProblem(500)), status ?? 200, envelope)
    case 'not-http':
      return bodyReply('', 200, envelope)
    default:
      return undefined
  }
}

function standardProblem(status: number): RequestProblem {
  return new RequestProblem(status, messages[status] ?? `The fault rule asks for status ${status}.`)
}

function bodyReply(body: unknown, status: number, envelope: Envelope): Reply {
  if (typeof body === 'string') return wholeReply(body, 'text/plain; charset=utf-8', { status })
  const type = envelope === 'google' ? googleJsonType : 'application/json'
  return wholeReply(JSON.stringify(body), type, { status })
}

/** The default event for a fault. */
export const usualEvent = 3

/** The frames of a reply, as modified by the fault. */
export function changeFrames(reply: Reply, fault: FaultRule): Frames {
  const { frames } = reply
  switch (fault.action) {
    case 'empty':
      return []
    case 'malformed':
      return malformed(frames, fault.event ?? usualEvent)
    case 'drop-terminal':
      return mapFrames(frames, (frame) => (frame.role === 'terminal' ? [] : [frame]))
    case 'duplicate-terminal':
      return mapFrames(frames, (frame) => (frame.role === 'terminal' ? [frame, frame] : [frame]))
    case 'late-event':
      return lateEvent(frames)
    case 'comments':
      return mapFrames(frames, (frame) => (frame.role === 'closing' ? [frame] : [comment('none'), frame]))
    case 'comments-only':
      return forever(comment(fault.ms ?? 1000))
    case 'error-event':
      return brokenOff(frames, fault.event ?? usualEvent, reply.breakOff)
    case 'done-marker':
      return followed(frames, { text: 'data: [DONE]\n\n', pause: 'none', role: 'closing' })
    case 'line-endings':
      return withLineEndings(frames, fault.value)
    case 'bom':
      return withMark(frames)
    case 'no-blank-line':
      return mapFrames(frames, (frame) =>
        frame.role === 'terminal' ? [{ ...frame, text: frame.text.replace(/[\r\n]+$/, '') }] : [frame],
      )
    default:
      return frames
  }
}

function comment(pause: Frame['pause']): Frame {
  return { text: ': keep-alive\n\n', pause, role: 'event' }
}

async function* mapFrames(frames: Frames, map: (frame: Frame) => readonly Frame[]): AsyncGenerator<Frame> {
  for await (const frame of frames) yield* map(frame)
}

async function* followed(frames: Frames, last: Frame): AsyncGenerator<Frame> {
  yield* frames
  yield last
}

function* forever(frame: Frame): Generator<Frame> {
  for (;;) yield frame
}

/** Removes the last brace of the event; in a shorter stream, that of its last event. */
async function* malformed(frames: Frames, event: number): AsyncGenerator<Frame> {
  let index = 0
  for await (const frame of frames) {
    index++
    const isTarget = index === event || (frame.role === 'terminal' && index < event)
    yield isTarget ? { ...frame, text: frame.text.replace(/\}(?=[^}]*$)/, '') } : frame
  }
}

async function* lateEvent(frames: Frames): AsyncGenerator<Frame> {
  let earlier: Frame | undefined
  for await (const frame of frames) {
    yield frame
    if (frame.role === 'terminal') yield { ...(earlier ?? frame), role: 'closing' }
    earlier = frame
  }
}

/** Breaks off before an event, with the error that the service writes then. */
export async function* brokenOff(
  frames: Frames,
  event: number,
  breakOff: Reply['breakOff'],
): AsyncGenerator<Frame> {
  let sent = 0
  for await (const frame of frames) {
    if (sent + 1 === event || frame.role !== 'event') break
    sent++
    yield frame
  }
  yield* breakOff(sent)
}

const endings: Readonly<Record<string, string>> = { lf: '\n', crlf: '\r\n', cr: '\r' }

function withLineEndings(frames: Frames, name = 'cr'): Frames {
  const ending = endings[name.toLowerCase()] ?? '\r'
  return mapFrames(frames, (frame) => [{ ...frame, text: frame.text.replace(/\r\n|\n/g, ending) }])
}

async function* withMark(frames: Frames): AsyncGenerator<Frame> {
  let mark = '\uFEFF'
  for await (const frame of frames) {
    yield { ...frame, text: mark + frame.text }
    mark = ''
  }
}
