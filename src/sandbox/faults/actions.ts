import { once } from 'node:events'
import { STATUS_CODES, type ServerResponse } from 'node:http'
import { sleep, type Clock } from '../../context.ts'
import { errorBody, problemReply, RequestProblem, type Envelope } from '../http/request-problem.ts'
import {
  brokenOff,
  frameBytes,
  googleJsonType,
  wholeReply,
  type Frame,
  type Frames,
  type Reply,
} from '../http/reply.ts'

/** Where a reset, close, cut or stall occurs; also a number, of a byte of the body. */
export const faultPoints = [
  'before-body',
  'before-headers',
  'after-headers',
  'mid-event',
  'mid-character',
  'before-terminal',
  'after-terminal',
] as const
export type FaultPoint = (typeof faultPoints)[number] | number

/** What a rule says about how its action is done; each action has its own defaults. */
export interface Parameters {
  readonly at?: FaultPoint | undefined
  /** The affected event, counted from 1; the last one if there are fewer. */
  readonly event?: number | undefined
  readonly status?: number | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Sent unchanged if it is text, otherwise as JSON. */
  readonly body?: unknown
  readonly value?: string | undefined
  readonly size?: number | undefined
  /** Milliseconds of a stall or between chunks. */
  readonly ms?: number | undefined
}

/** Of an exchange, what ends it. */
interface Connection {
  readonly outgoing: ServerResponse
  readonly signal: AbortSignal
  readonly sandbox: { readonly clock: Clock }
}

interface Action {
  readonly about: string
  /** Answers in place of the endpoint. Such a reply generates nothing, so it is no creation. */
  replace?(rule: Parameters, envelope: Envelope): Reply
  change?(reply: Reply, rule: Parameters): Frames
  /** Sends bytes that Node's HTTP server refuses to send. */
  raw?(reply: Reply, rule: Parameters): Promise<string | Buffer>
  /** Ends the connection at a point of the reply, or holds it up there. */
  interrupt?(connection: Connection, rule: Parameters, isBegun: boolean): Promise<'over' | 'resumed'>
  /** By default; `mid-event` if left out. */
  readonly at?: FaultPoint
  /** Sends `size` bytes at a time, `ms` milliseconds apart. */
  readonly pieces?: { readonly size: number; readonly ms: number }
  /** Whether the headers give no length: the message ends properly, but elsewhere. */
  readonly hasNoLength?: true
}

export const usualEvent = 3

/** Time for the client to read what was sent: a reset may discard bytes in flight. */
const linger = 20

const page =
  '<!doctype html>\n<html><head><title>502 Bad Gateway</title></head>' +
  '<body><h1>502 Bad Gateway</h1><p>sandbox proxy</p></body></html>\n'

const actions = {
  status: {
    about: 'answers with `status` (503), `headers` and `body` instead of accepting the request',
    replace: ({ status = 503, body }, envelope) =>
      body === undefined
        ? problemReply(envelope, standardProblem(status))
        : bodyReply(body, status, envelope),
  },
  html: {
    about: 'answers with an HTML page, as a proxy or a captive portal does (`status` 200)',
    replace: ({ status = 200, body }) =>
      wholeReply(typeof body === 'string' ? body : page, 'text/html; charset=utf-8', { status }),
  },
  'error-200': {
    about: 'answers with an error object under status 200',
    replace: ({ status = 200, body }, envelope) =>
      bodyReply(body ?? errorBody(envelope, standardProblem(500)), status, envelope),
  },
  empty: { about: 'answers with no body at all (`status` 200)', change: () => [] },
  reset: {
    about: 'resets the connection `at` a point (before-headers)',
    at: 'before-headers',
    async interrupt({ outgoing, sandbox, signal }, _, isBegun) {
      if (isBegun) await sleep(sandbox.clock, linger, signal)
      outgoing.socket?.resetAndDestroy()
      return 'over'
    },
  },
  close: {
    about: 'closes the connection `at` a point without ending the message (mid-event)',
    async interrupt({ outgoing }) {
      outgoing.socket?.destroySoon()
      return 'over'
    },
  },
  cut: {
    about: 'ends the message properly, but too early, `at` a point (mid-event)',
    hasNoLength: true,
    async interrupt({ outgoing }) {
      outgoing.end()
      return 'over'
    },
  },
  stall: {
    about: 'falls silent `at` a point (mid-event), for `ms` or for good',
    async interrupt({ sandbox, signal }, { ms }) {
      await (ms === undefined ? ended(signal) : sleep(sandbox.clock, ms, signal))
      return ms === undefined ? 'over' : 'resumed'
    },
  },
  split: { about: 'sends `size` (1) bytes at a time', pieces: { size: 1, ms: 0 } },
  drip: { about: 'sends `size` (16) bytes every `ms` (20)', pieces: { size: 16, ms: 20 } },
  'content-type': { about: 'sends `value` (text/plain) as the content type' },
  headers: { about: 'adds or replaces `headers`' },
  malformed: {
    about: 'breaks the JSON of one `event`',
    // Without its last brace; in a shorter stream, the last event.
    change: ({ frames }, { event = usualEvent }) =>
      mapTexts(frames, (text, role, index) => {
        const isTarget = index === event || (role === 'terminal' && index < event)
        return isTarget ? text.replace(/\}(?=[^}]*$)/, '') : text
      }),
  },
  'drop-terminal': {
    about: 'leaves out the event that completes the reply',
    change: ({ frames }) => mapTerminal(frames, () => []),
  },
  'duplicate-terminal': {
    about: 'sends the event that completes the reply twice',
    change: ({ frames }) => mapTerminal(frames, (frame) => [frame, frame]),
  },
  'late-event': {
    about: 'sends one more event after the one that completes the reply',
    change({ frames }) {
      let earlier: Frame | undefined
      return mapFrames(frames, (frame) => {
        const late: Frame = { ...(earlier ?? frame), role: 'closing' }
        earlier = frame
        return frame.role === 'terminal' ? [frame, late] : [frame]
      })
    },
  },
  'comments-only': {
    about: 'sends nothing but comments, one every `ms` (1000), for good',
    hasNoLength: true,
    *change(_, { ms = 1000 }) {
      for (;;) yield comment(ms)
    },
  },
  comments: {
    about: 'sends a comment before every event',
    change: ({ frames }) =>
      mapFrames(frames, (frame) => (frame.role === 'closing' ? [frame] : [comment('none'), frame])),
  },
  'error-event': {
    about: 'breaks off with the error of the service before an `event`',
    change: ({ frames, breakOff }, { event = usualEvent }) => brokenOff(frames, event, breakOff),
  },
  'done-marker': {
    about: 'adds `data: [DONE]` at the end',
    async *change({ frames }) {
      yield* frames
      yield { text: 'data: [DONE]\n\n', pause: 'none', role: 'closing' }
    },
  },
  'line-endings': {
    about: 'ends the lines with `value`: lf, crlf or cr',
    change({ frames }, { value = 'cr' }) {
      const ending = { lf: '\n', crlf: '\r\n' }[value.toLowerCase()] ?? '\r'
      return mapTexts(frames, (text) => text.replace(/\r\n|\n/g, ending))
    },
  },
  bom: {
    about: 'begins with a byte order mark',
    change: ({ frames }) => mapTexts(frames, (text, _, index) => (index === 1 ? `\uFEFF${text}` : text)),
  },
  'no-blank-line': {
    about: 'leaves out the blank line after the last event',
    change: ({ frames }) =>
      mapTexts(frames, (text, role) => (role === 'terminal' ? text.replace(/[\r\n]+$/, '') : text)),
  },
  'keep-open': { about: 'leaves the connection open after the whole reply' },
  'ignore-stream': { about: 'answers a stream request with one JSON document' },
  'not-http': {
    about: 'answers with something that is not HTTP',
    replace: (_, envelope) => bodyReply('', 200, envelope),
    raw: async (_, { body }) => (typeof body === 'string' ? body : 'SSH-2.0-OpenSSH_9.9\r\n'),
  },
  'huge-headers': {
    about: 'answers with 64 KiB of headers',
    raw: async (reply) => rawReply(reply, { 'x-filler': 'x'.repeat(65_536), 'content-length': '0' }),
  },
  'bad-chunk': {
    about: 'sends a chunk whose size is not a number',
    async raw(reply) {
      const [first = Buffer.alloc(0)] = await Array.fromAsync(reply.frames, frameBytes)
      const size = `${first.length.toString(16)}\r\n`
      return rawReply(reply, { 'transfer-encoding': 'chunked' }, size, first, '\r\nnot-a-size\r\n')
    },
  },
  'short-length': {
    about: 'announces more bytes than it sends, then closes',
    async raw(reply) {
      const whole = Buffer.concat(await Array.fromAsync(reply.frames, frameBytes))
      return rawReply(reply, { 'content-length': String(whole.length + 100) }, whole)
    },
  },
} satisfies Readonly<Record<string, Action>>

export type FaultAction = keyof typeof actions
export const faultActions: Readonly<Record<FaultAction, Action>> = actions
export const faultActionNames = Object.keys(actions) as readonly FaultAction[]

const messages: Readonly<Record<number, string>> = {
  401: 'Incorrect API key provided.',
  408: 'The request took too long.',
  429: 'Rate limit reached.',
  500: 'The server had an error while processing the request.',
  503: 'The engine is overloaded, please try again later.',
}

function standardProblem(status: number): RequestProblem {
  return new RequestProblem(status, messages[status] ?? `The fault rule asks for status ${status}.`)
}

function bodyReply(body: unknown, status: number, envelope: Envelope): Reply {
  if (typeof body === 'string') return wholeReply(body, 'text/plain; charset=utf-8', { status })
  const type = envelope === 'google' ? googleJsonType : 'application/json'
  return wholeReply(JSON.stringify(body), type, { status })
}

function comment(pause: Frame['pause']): Frame {
  return { text: ': keep-alive\n\n', pause, role: 'event' }
}

async function* mapFrames(frames: Frames, map: (frame: Frame) => readonly Frame[]): AsyncGenerator<Frame> {
  for await (const frame of frames) yield* map(frame)
}

/** @param map is given the number of the frame, from 1 */
function mapTexts(frames: Frames, map: (text: string, role: Frame['role'], index: number) => string): Frames {
  let index = 0
  return mapFrames(frames, (frame) => [{ ...frame, text: map(frame.text, frame.role, ++index) }])
}

function mapTerminal(frames: Frames, map: (frame: Frame) => readonly Frame[]): Frames {
  return mapFrames(frames, (frame) => (frame.role === 'terminal' ? map(frame) : [frame]))
}

export async function ended(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}

function rawReply(
  { status, headers }: Reply,
  more: Readonly<Record<string, string>>,
  ...body: readonly (string | Uint8Array)[]
): Buffer {
  const lines = Object.entries({ ...headers, ...more }).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}connection: close\r\n\r\n`
  return Buffer.concat([head, ...body].map((part) => Buffer.from(part)))
}
