import { STATUS_CODES } from 'node:http'
import { sleep } from '../../context.ts'
import { ended } from '../http/client-connection.ts'
import { allFrames, frameBytes, type Frame, type Reply } from '../http/reply.ts'
import { usualEvent } from './change-reply.ts'
import type { Exchange } from '../sandbox.ts'
import type { FaultPoint, FaultRule } from './fault-rule.ts'

/** A fault at one point of the reply. */
export interface Interruption {
  readonly action: 'reset' | 'close' | 'cut' | 'stall'
  readonly at: FaultPoint
  readonly event: number
  /** Length of a stall; forever by default. */
  readonly ms: number | undefined
}

export function interruptionOf({ action, at, event, ms }: FaultRule): Interruption | undefined {
  if (action !== 'reset' && action !== 'close' && action !== 'cut' && action !== 'stall') return undefined
  const usual = action === 'reset' ? 'before-headers' : 'mid-event'
  return { action, at: at ?? usual, event: event ?? usualEvent, ms }
}

/** A cut ends a message properly, so headers must be sent first. */
export function isBeforeHeaders({ action, at }: Interruption): boolean {
  return action !== 'cut' && (at === 'before-headers' || at === 'before-body')
}

/** Time for the client to read what was sent: a reset may discard bytes in flight. */
const linger = 20

/** Performs the fault. `over` if the connection has ended, `resumed` after a stall that ended. */
export async function interrupt(
  { outgoing, sandbox: { clock }, signal }: Exchange,
  interruption: Interruption,
): Promise<'over' | 'resumed'> {
  const { action, ms } = interruption
  switch (action) {
    case 'reset':
      if (!isBeforeHeaders(interruption)) await sleep(clock, linger, signal)
      outgoing.socket?.resetAndDestroy()
      return 'over'
    case 'close':
      outgoing.socket?.destroySoon()
      return 'over'
    case 'cut':
      outgoing.end()
      return 'over'
    case 'stall':
      await (ms === undefined ? ended(signal) : sleep(clock, ms, signal))
      return ms === undefined ? 'over' : 'resumed'
  }
}

/** Returns, for each frame, the number of bytes after which the fault occurs; undefined if not in this frame. */
type BreakingPoint = (bytes: Uint8Array, role: Frame['role']) => number | undefined

/**
 * Where a fault occurs in a body. In a body without that point (no such event, no multi-byte character) it is the
 * middle of the terminal event; a body shorter than the byte number has no fault.
 */
export function breakingPoint(at: FaultPoint, event: number): BreakingPoint {
  let index = 0
  let before = 0
  return (bytes, role) => {
    index++
    const middle = Math.floor(bytes.length / 2)
    const start = before
    before += bytes.length
    const isTerminal = role === 'terminal'
    switch (at) {
      case 'mid-event':
        return index === event || isTerminal ? middle : undefined
      case 'mid-character': {
        // Bytes from 0xC0 begin a multi-byte character.
        const first = bytes.findIndex((byte) => byte >= 0xc0)
        if (first !== -1) return first + 1
        return isTerminal ? middle : undefined
      }
      case 'before-terminal':
        return isTerminal ? 0 : undefined
      case 'after-terminal':
        return isTerminal ? bytes.length : undefined
      case 'before-body':
      case 'before-headers':
      case 'after-headers':
        return 0
      default:
        return at <= before ? Math.max(0, at - start) : undefined
    }
  }
}

/** Raw bytes of replies that Node's HTTP server refuses to send; undefined for all others. */
export async function rawReplyOf(fault: FaultRule, reply: Reply): Promise<string | Buffer | undefined> {
  const withBody = async (headers: Readonly<Record<string, string>>, ...body: (string | Uint8Array)[]) =>
    Buffer.concat([head(reply, headers), ...body].map((part) => Buffer.from(part)))
  const body = async () => (await allFrames(reply.frames)).map(frameBytes)
  switch (fault.action) {
    case 'not-http':
      return typeof fault.body === 'string' ? fault.body : 'SSH-2.0-OpenSSH_9.9\r\n'
    case 'huge-headers':
      return head(reply, { 'x-filler': 'x'.repeat(65_536), 'content-length': '0' })
    case 'bad-chunk': {
      const [first = Buffer.alloc(0)] = await body()
      const size = `${first.length.toString(16)}\r\n`
      return withBody({ 'transfer-encoding': 'chunked' }, size, first, '\r\nnot-a-size\r\n')
    }
    case 'short-length': {
      const whole = Buffer.concat(await body())
      return withBody({ 'content-length': String(whole.length + 100) }, whole)
    }
    default:
      return undefined
  }
}

function head(reply: Reply, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries({ ...reply.headers, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  return `HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status] ?? ''}\r\n${lines.join('')}connection: close\r\n\r\n`
}
