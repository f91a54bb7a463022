import { nextTurn, sleep } from '../../context.ts'
import { changeFrames } from '../faults/change-reply.ts'
import {
  breakingPoint,
  interruptionOf,
  isBeforeHeaders,
  rawReplyOf,
  interrupt,
  type Interruption,
} from '../faults/interruption.ts'
import type { FaultRule } from '../faults/fault-rule.ts'
import type { Exchange } from '../sandbox.ts'
import { ended, flush, write, writeThrough } from './client-connection.ts'
import { allFrames, BrokenOff, frameBytes, type Frames, type Reply } from './reply.ts'

/**
 * Sends a reply at the configured pace and injects a fault. Ends quietly when the client disconnects; rejects only for
 * errors of the sandbox itself.
 */
export async function deliver(exchange: Exchange, reply: Reply, fault?: FaultRule): Promise<void> {
  try {
    await play(exchange, reply, fault)
  } catch (error) {
    if (exchange.signal.aborted) return
    if (!(error instanceof BrokenOff)) throw error
    await flush(exchange)
    exchange.outgoing.socket?.destroySoon()
  }
}

async function play(exchange: Exchange, reply: Reply, fault: FaultRule | undefined): Promise<void> {
  const { outgoing, signal } = exchange
  const raw = fault && (await rawReplyOf(fault, reply))
  if (raw !== undefined) {
    outgoing.socket?.end(raw)
    return
  }
  let interruption = fault && interruptionOf(fault)
  if (interruption !== undefined && isBeforeHeaders(interruption)) {
    if ((await interrupt(exchange, interruption)) === 'over') return
    interruption = undefined
  }
  const frames = fault === undefined ? reply.frames : changeFrames(reply, fault)
  // A body that is cut on purpose must not have a Content-Length.
  const isWhole = reply.isWhole && fault?.action !== 'cut' && fault?.action !== 'comments-only'
  const whole = isWhole ? await allFrames(frames) : undefined
  const length = whole?.reduce((sum, frame) => sum + frameBytes(frame).length, 0)
  outgoing.writeHead(reply.status, headersOf(reply, fault, length))
  outgoing.flushHeaders()
  if (await send(exchange, whole ?? frames, pieceWriter(exchange, fault), interruption)) return
  if (fault?.action === 'keep-open') await ended(signal)
  else outgoing.end()
}

type WritePiece = (bytes: Uint8Array) => Promise<void>

/** How many frames without a pause are sent in a turn of the event loop. */
const framesPerTurn = 100

/** Returns true when the fault has ended the connection. */
async function send(
  exchange: Exchange,
  frames: Frames,
  writePiece: WritePiece,
  interruption: Interruption | undefined,
): Promise<boolean> {
  const { pace, signal } = exchange
  const { clock } = exchange.sandbox
  const breaksAt = interruption && breakingPoint(interruption.at, interruption.event)
  let isDue = true
  let count = 0
  for await (const frame of frames) {
    const wait = pace(frame.pause)
    if (wait > 0) await sleep(clock, wait, signal)
    // Others have their turn, and so has a signal that ends the sandbox.
    else if (++count % framesPerTurn === 0) await nextTurn()
    if (signal.aborted) return true
    const bytes = frameBytes(frame)
    const offset = isDue ? breaksAt?.(bytes, frame.role) : undefined
    if (offset === undefined || interruption === undefined) {
      await writePiece(bytes)
      continue
    }
    isDue = false
    await write(exchange, bytes.subarray(0, offset))
    await flush(exchange)
    if ((await interrupt(exchange, interruption)) === 'over') return true
    await writePiece(bytes.subarray(offset))
  }
  return signal.aborted
}

function headersOf(
  reply: Reply,
  fault: FaultRule | undefined,
  length: number | undefined,
): Record<string, string> {
  const all = {
    ...reply.headers,
    ...(length !== undefined && { 'content-length': String(length) }),
    ...(fault?.action === 'content-type' && { 'content-type': fault.value ?? 'text/plain' }),
  }
  const changed = Object.entries(fault?.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value])
  return { ...all, ...Object.fromEntries(changed) }
}

/** Writes bytes at once, or in chunks that are flushed separately. */
function pieceWriter(exchange: Exchange, fault: FaultRule | undefined): WritePiece {
  if (fault?.action !== 'split' && fault?.action !== 'drip') return (bytes) => write(exchange, bytes)
  const usual = fault.action === 'drip' ? { size: 16, ms: 20 } : { size: 1, ms: 0 }
  const { size = usual.size, ms = usual.ms } = fault
  return async (bytes) => {
    for (let at = 0; at < bytes.length; at += size) {
      if (ms > 0) await sleep(exchange.sandbox.clock, ms, exchange.signal)
      await writeThrough(exchange, bytes.subarray(at, at + size))
    }
  }
}
