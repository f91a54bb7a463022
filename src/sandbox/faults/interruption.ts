import { sleep, type Clock } from '../../context.ts'
import type { FaultPoint, FaultRule } from './rule.ts'
import { usualEvent } from './replace-reply.ts'
import { type Frame, allFrames, frameBytes, type Reply, type Pace } from '../http/reply.ts'
import { STATUS_CODES, type ServerResponse } from 'node:http'

/** A fault that strikes at one point of the reply. */
export interface Interruption {
  readonly action: 'reset' | 'close' | 'cut' | 'stall'
  readonly at: FaultPoint
  readonly event: number
  /** Length of a stall; for good when left out. */
  readonly ms: number | undefined
}

export function interruptionOf({ action, at, event, ms }: FaultRule): Interruption | undefined {
  if (action !== 'reset' && action !== 'close' && action !== 'cut' && action !== 'stall') return undefined
  const usual = action === 'reset' ? 'before-headers' : 'mid-event'
  return { action, at: at ?? usual, event: event ?? usualEvent, ms }
}

/** A cut ends a message properly, so it needs headers first. */
export function isBeforeHeaders({ action, at }: Interruption): boolean {
  return action !== 'cut' && (at === 'before-headers' || at === 'before-body')
}

/** Long enough for the client to read what was sent: a reset may discard bytes still on their way. */
const linger = 20

/** Does it. `over` when the connection has come to its end, `resumed` after a stall that passed. */
export async function strike(line: Line, { action, at, ms }: Interruption): Promise<'over' | 'resumed'> {
  const { outgoing, clock, signal } = line
  switch (action) {
    case 'reset':
      if (at !== 'before-headers' && at !== 'before-body') await sleep(clock, linger, signal)
      outgoing.socket?.resetAndDestroy()
      return 'over'
    case 'close':
      outgoing.socket?.destroySoon()
      return 'over'
    case 'cut':
      outgoing.end()
      return 'over'
    case 'stall':
      if (ms === undefined) {
        await new Promise<void>((resolve) =>
          signal.addEventListener('abort', () => resolve(), { once: true }),
        )
        return 'over'
      }
      await sleep(clock, ms, signal)
      return 'resumed'
  }
}

/** Says, frame by frame, after how many bytes of this frame the fault strikes; undefined while it does not. */
type BreakingPoint = (bytes: Uint8Array, role: Frame['role']) => number | undefined

/**
 * Where in a body a fault strikes. A body without the point (no such event, no character of several bytes)
 * is struck in the middle of its terminal event; one shorter than a byte number is not struck.
 */
export function breakingPoint(at: FaultPoint, event: number): BreakingPoint {
  let index = 0
  let before = 0
  return (bytes, role) => {
    index++
    const middle = Math.floor(bytes.length / 2)
    const start = before
    before += bytes.length
    switch (at) {
      case 'mid-event':
        return index === event || role === 'terminal' ? middle : undefined
      case 'mid-character': {
        // A byte from 0xC0 up begins a character of several bytes.
        const first = bytes.findIndex((byte) => byte >= 0xc0)
        if (first !== -1) return first + 1
        return role === 'terminal' ? middle : undefined
      }
      case 'before-terminal':
        return role === 'terminal' ? 0 : undefined
      case 'after-terminal':
        return role === 'terminal' ? bytes.length : undefined
      case 'before-body':
      case 'before-headers':
      case 'after-headers':
        return 0
      default:
        return at <= before ? Math.max(0, at - start) : undefined
    }
  }
}

/** Bytes for the socket itself, of replies that Node's HTTP server refuses to send; undefined for all others. */
export async function rawReplyOf(fault: FaultRule, reply: Reply): Promise<string | Buffer | undefined> {
  switch (fault.action) {
    case 'not-http':
      return typeof fault.body === 'string' ? fault.body : 'SSH-2.0-OpenSSH_9.9\r\n'
    case 'huge-headers':
      return head(reply, { 'x-filler': 'x'.repeat(65_536), 'content-length': '0' })
    case 'bad-chunk': {
      const [first = Buffer.alloc(0)] = await pieces(reply)
      return Buffer.concat([
        Buffer.from(`${head(reply, { 'transfer-encoding': 'chunked' })}${first.length.toString(16)}\r\n`),
        first,
        Buffer.from('\r\nnot-a-size\r\n'),
      ])
    }
    case 'short-length': {
      const body = Buffer.concat(await pieces(reply))
      return Buffer.concat([Buffer.from(head(reply, { 'content-length': String(body.length + 100) })), body])
    }
    default:
      return undefined
  }
}

async function pieces({ frames }: Reply): Promise<Uint8Array[]> {
  return (await allFrames(frames)).map(frameBytes)
}

function head(reply: Reply, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries({ ...reply.headers, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  return `HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status] ?? ''}\r\n${lines.join('')}connection: close\r\n\r\n`
}

/** The way back to one client. */
export interface Line {
  readonly outgoing: ServerResponse
  readonly clock: Clock
  readonly pace: Pace
  /** Aborted when the client has gone or the sandbox closes. */
  readonly signal: AbortSignal
}

/** Writes and waits while the client reads more slowly than the sandbox writes. */
export async function write({ outgoing, signal }: Line, bytes: Uint8Array): Promise<void> {
  if (bytes.length === 0 || signal.aborted || outgoing.write(bytes)) return
  await settled(signal, (done) => outgoing.once('drain', done))
}

/** Writes and waits until the bytes have been handed to the system, so that they travel by themselves. */
export async function writeThrough({ outgoing, signal }: Line, bytes: Uint8Array): Promise<void> {
  if (bytes.length === 0 || signal.aborted) return
  await settled(signal, (done) => outgoing.write(bytes, done))
}

/** Waits until everything written so far has been handed to the system. */
export async function flush({ outgoing, signal }: Line): Promise<void> {
  const { socket } = outgoing
  // An empty write takes its turn behind all others.
  if (socket !== null && !signal.aborted) await settled(signal, (done) => socket.write('', done))
}

/** Waits for something on the connection, or for the end of the connection. */
function settled(signal: AbortSignal, start: (done: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      signal.removeEventListener('abort', done)
      resolve()
    }
    signal.addEventListener('abort', done, { once: true })
    start(done)
  })
}
