/** One thing that a local server does with a connection. */
export type Step =
  /** Waits until the request's head, or the whole of it, has come. */
  | { readonly step: 'read'; readonly until: 'head' | 'body' }
  /** Writes, and waits until the system has taken the bytes. */
  | { readonly step: 'write'; readonly bytes: string | Uint8Array }
  /** Writes the same bytes again and again, as fast as they are taken, until the client has gone. */
  | { readonly step: 'flood'; readonly bytes: string | Uint8Array }
  /** Goes on when the test says so. */
  | { readonly step: 'hold'; readonly until: Promise<unknown> }
  /** Does nothing until the client has gone. */
  | { readonly step: 'stall' }
  /** Takes nothing more from the client, whose writes then fill the system's buffers; or takes them again. */
  | { readonly step: 'hear'; readonly on: boolean }
  /** Takes so many bytes more, and then nothing again. */
  | { readonly step: 'sip'; readonly bytes: number }
  /** FIN. */
  | { readonly step: 'end' }
  /** RST. */
  | { readonly step: 'reset' }

/** All that a server does with one connection, in order. After the last step it waits for the client to go. */
export type ServerReply = readonly Step[]

export interface ReplyOptions {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
}

/** How a reply's body ends: as it should, or in one of the ways it should not. */
export type Ending = 'whole' | 'cut' | 'reset' | 'stall'

export const readHead: Step = { step: 'read', until: 'head' }
export const readAll: Step = { step: 'read', until: 'body' }
export const write = (bytes: string | Uint8Array): Step => ({ step: 'write', bytes })
export const flood = (bytes: string | Uint8Array): Step => ({ step: 'flood', bytes })
export const hold = (until: Promise<unknown>): Step => ({ step: 'hold', until })
export const stall: Step = { step: 'stall' }
export const deaf: Step = { step: 'hear', on: false }
export const hear: Step = { step: 'hear', on: true }
export const sip = (bytes: number): Step => ({ step: 'sip', bytes })
export const end: Step = { step: 'end' }
export const reset: Step = { step: 'reset' }

/** Reads the request, then answers with a body of known length. */
export function text(body: string, { status = 200, headers = {} }: ReplyOptions = {}): ServerReply {
  const length = String(Buffer.byteLength(body))
  return [readAll, write(head(status, { 'content-length': length, ...headers }) + body), end]
}

/** Reads the request, then answers with a JSON value. */
export function json(value: unknown, { status = 200, headers = {} }: ReplyOptions = {}): ServerReply {
  return text(JSON.stringify(value), { status, headers: { 'content-type': 'application/json', ...headers } })
}

/** Reads the request, then answers with an event stream in chunks, each written by itself. */
export function sse(
  pieces: readonly (string | Uint8Array)[],
  { status = 200, headers = {}, ending = 'whole' }: ReplyOptions & { readonly ending?: Ending } = {},
): ServerReply {
  const all = { 'content-type': 'text/event-stream', 'transfer-encoding': 'chunked', ...headers }
  return [
    readAll,
    write(head(status, all)),
    ...pieces.map((piece) => write(chunk(piece))),
    ...endingSteps(ending),
  ]
}

/** The same, as a body that lasts until the connection ends: then a cut cannot be told from the end. */
export function closeDelimited(
  pieces: readonly (string | Uint8Array)[],
  { status = 200, headers = {} }: ReplyOptions = {},
): ServerReply {
  return [readAll, write(head(status, headers)), ...pieces.map(write), end]
}

/** Cuts a text into writes of so many bytes. */
export function inPieces(body: string, size: number): Uint8Array[] {
  const bytes = Buffer.from(body)
  const pieces: Uint8Array[] = []
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size))
  return pieces
}

/** A status line and headers, with the blank line. As every server answers those who ask it to close afterwards. */
export function head(status: number, headers: Readonly<Record<string, string>> = {}): string {
  const closing = status < 200 ? {} : { connection: 'close' }
  const lines = Object.entries({ ...closing, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} ${status < 400 ? 'OK' : 'Not OK'}\r\n${lines.join('')}\r\n`
}

/** One chunk of a chunked body. */
export function chunk(piece: string | Uint8Array): Uint8Array {
  const bytes = Buffer.from(piece as string)
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
}

function endingSteps(ending: Ending): Step[] {
  if (ending === 'whole') return [write('0\r\n\r\n'), end]
  if (ending === 'cut') return [end]
  return [ending === 'reset' ? reset : stall]
}
