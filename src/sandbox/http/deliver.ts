import { sleep } from '../../context.ts'
import { changeFrames } from '../faults/replace-reply.ts'
import {
  breakingPoint,
  interruptionOf,
  isBeforeHeaders,
  strike,
  type Interruption,
  rawReplyOf,
  flush,
  write,
  writeThrough,
  type Line,
} from '../faults/interruption.ts'
import type { FaultRule } from '../faults/rule.ts'
import { allFrames, frameBytes, type Frame, type Frames, type Reply } from './reply.ts'

/**
 * Puts a reply on the wire, paced, and plays a fault on the way.
 * Ends quietly when the client leaves; rejects only for faults of the sandbox itself.
 */
export async function deliver(line: Line, reply: Reply, fault?: FaultRule): Promise<void> {
  try {
    await play(line, reply, fault)
  } catch (error) {
    if (!line.signal.aborted) throw error
  }
}

async function play(line: Line, reply: Reply, fault: FaultRule | undefined): Promise<void> {
  const { outgoing } = line
  const raw = fault && (await rawReplyOf(fault, reply))
  if (raw !== undefined) {
    outgoing.socket?.end(raw)
    return
  }
  const interruption = fault && interruptionOf(fault)
  if (interruption !== undefined && isBeforeHeaders(interruption)) {
    if ((await strike(line, interruption)) === 'over') return
  }
  const changed = fault === undefined ? reply : { ...reply, frames: changeFrames(reply, fault) }
  // A body that ends early on purpose must not announce its length.
  const isWhole = reply.isWhole && fault?.action !== 'cut' && fault?.action !== 'comments-only'
  const whole = isWhole ? await allFrames(changed.frames) : undefined
  const length = whole && lengthOf(whole)
  outgoing.writeHead(reply.status, headersOf(reply, fault, length))
  outgoing.flushHeaders()
  const writePiece = pieceWriter(line, fault)
  const isLater = interruption !== undefined && !isBeforeHeaders(interruption)
  if (await send(line, whole ?? changed.frames, writePiece, isLater ? interruption : undefined)) return
  if (fault?.action === 'keep-open') {
    await new Promise<void>((resolve) =>
      line.signal.addEventListener('abort', () => resolve(), { once: true }),
    )
    return
  }
  outgoing.end()
}

type WritePiece = (bytes: Uint8Array) => Promise<void>

/** Returns true when the fault has ended the connection. */
async function send(
  line: Line,
  frames: Frames,
  writePiece: WritePiece,
  interruption: Interruption | undefined,
): Promise<boolean> {
  const breaksAt = interruption && breakingPoint(interruption.at, interruption.event)
  let isDue = true
  for await (const frame of frames) {
    const wait = line.pace(frame.pause)
    if (wait > 0) await sleep(line.clock, wait, line.signal)
    if (line.signal.aborted) return true
    const bytes = frameBytes(frame)
    const offset = isDue ? breaksAt?.(bytes, frame.role) : undefined
    if (offset === undefined || interruption === undefined) {
      await writePiece(bytes)
      continue
    }
    isDue = false
    await write(line, bytes.subarray(0, offset))
    await flush(line)
    if ((await strike(line, interruption)) === 'over') return true
    await writePiece(bytes.subarray(offset))
  }
  return line.signal.aborted
}

function lengthOf(frames: readonly Frame[]): number {
  return frames.reduce((length, frame) => length + frameBytes(frame).length, 0)
}

function headersOf(
  reply: Reply,
  fault: FaultRule | undefined,
  length: number | undefined,
): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(reply.headers)) headers[name.toLowerCase()] = value
  if (length !== undefined) headers['content-length'] = String(length)
  if (fault?.action === 'content-type') headers['content-type'] = fault.value ?? 'text/plain'
  for (const [name, value] of Object.entries(fault?.headers ?? {})) headers[name.toLowerCase()] = value
  return headers
}

/** How bytes are written: at once, or in pieces that each travel by themselves. */
function pieceWriter(line: Line, fault: FaultRule | undefined): WritePiece {
  if (fault?.action !== 'split' && fault?.action !== 'drip') return (bytes) => write(line, bytes)
  const isDrip = fault.action === 'drip'
  const size = fault.size ?? (isDrip ? 16 : 1)
  const wait = fault.ms ?? (isDrip ? 20 : 0)
  return async (bytes) => {
    for (let at = 0; at < bytes.length; at += size) {
      if (wait > 0) await sleep(line.clock, wait, line.signal)
      await writeThrough(line, bytes.subarray(at, at + size))
    }
  }
}
