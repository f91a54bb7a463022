import { once } from 'node:events'
import { yieldToEventLoop, sleep } from '../../context.ts'
import { ended, faultActions, usualEvent, type FaultPoint } from '../faults/actions.ts'
import type { Exchange } from '../sandbox.ts'
import { seededRandom } from '../seeded-random.ts'
import { BrokenOff, frameBytes, paceOf, type Frame, type Frames, type Reply } from './reply.ts'

/**
 * Sends a reply at the configured pace and injects the fault of its request. Ends quietly when the client disconnects;
 * rejects only for errors of the sandbox itself.
 */
export async function deliver(exchange: Exchange, reply: Reply): Promise<void> {
  try {
    await play(exchange, reply)
  } catch (error) {
    if (exchange.signal.aborted) return
    if (!(error instanceof BrokenOff)) throw error
    await flush(exchange)
    exchange.outgoing.socket?.destroySoon()
  }
}

async function play(exchange: Exchange, reply: Reply): Promise<void> {
  const { outgoing, signal, fault } = exchange
  const action = fault && faultActions[fault.action]
  if (fault !== undefined && action?.raw !== undefined) {
    outgoing.socket?.end(await action.raw(reply, fault))
    return
  }
  const point = fault?.at ?? action?.at ?? 'mid-event'
  // A cut ends a message properly, so headers must be sent first.
  const isEarly = (point === 'before-headers' || point === 'before-body') && fault?.action !== 'cut'
  if (isEarly && (await interrupt(exchange, false))) return
  const frames = (fault && action?.change?.(reply, fault)) ?? reply.frames
  const whole = reply.isWhole && !action?.hasNoLength ? await Array.fromAsync(frames) : undefined
  const changed = Object.entries(fault?.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value])
  outgoing.writeHead(reply.status, {
    ...reply.headers,
    ...(whole && { 'content-length': whole.reduce((sum, frame) => sum + frameBytes(frame).length, 0) }),
    ...(fault?.action === 'content-type' && { 'content-type': fault.value ?? 'text/plain' }),
    ...Object.fromEntries(changed),
  })
  outgoing.flushHeaders()
  const breaksAt = isEarly || !action?.interrupt ? undefined : breakingPoint(point, fault?.event)
  if (await send(exchange, whole ?? frames, breaksAt)) return
  if (fault?.action === 'keep-open') await ended(signal)
  else outgoing.end()
}

/** @returns whether the fault has ended the connection; a stall that ended has not */
async function interrupt(exchange: Exchange, isBegun: boolean): Promise<boolean> {
  const { fault } = exchange
  if (fault === undefined) return false
  return (await faultActions[fault.action].interrupt?.(exchange, fault, isBegun)) === 'over'
}

/**
 * Where a fault occurs in a body. In a body without that point (no such event, no multi-byte character) it is the
 * middle of the terminal event; a body shorter than the byte number has no fault.
 * @returns for each frame the number of bytes after which the fault occurs; undefined if not in this frame
 */
function breakingPoint(at: FaultPoint, event = usualEvent) {
  let index = 0
  let before = 0
  return (bytes: Uint8Array, role: Frame['role']): number | undefined => {
    index++
    const start = before
    before += bytes.length
    const isTerminal = role === 'terminal'
    const middle = Math.floor(bytes.length / 2)
    if (typeof at === 'number') return at <= before ? Math.max(0, at - start) : undefined
    if (at === 'mid-event') return index === event || isTerminal ? middle : undefined
    if (at === 'before-terminal') return isTerminal ? 0 : undefined
    if (at === 'after-terminal') return isTerminal ? bytes.length : undefined
    if (at !== 'mid-character') return 0
    // Bytes from 0xC0 begin a multi-byte character.
    const first = bytes.findIndex((byte) => byte >= 0xc0)
    if (first !== -1) return first + 1
    return isTerminal ? middle : undefined
  }
}

const framesPerTurn = 100

/** @returns whether the fault has ended the connection, or the client has */
async function send(
  exchange: Exchange,
  frames: Frames,
  breaksAt?: ReturnType<typeof breakingPoint>,
): Promise<boolean> {
  const { signal, sandbox, number } = exchange
  const pace = paceOf(sandbox.latency, seededRandom(sandbox.seed, 'pace', number))
  let isDue = true
  let count = 0
  for await (const frame of frames) {
    const wait = pace(frame.pause)
    if (wait > 0) await sleep(sandbox.clock, wait, signal)
    // Others have their turn, and so has a signal that ends the sandbox.
    else if (++count % framesPerTurn === 0) await yieldToEventLoop()
    if (signal.aborted) return true
    const bytes = frameBytes(frame)
    const offset = isDue ? breaksAt?.(bytes, frame.role) : undefined
    if (offset === undefined) {
      await writePieces(exchange, bytes)
      continue
    }
    isDue = false
    await write(exchange, bytes.subarray(0, offset))
    await flush(exchange)
    if (await interrupt(exchange, true)) return true
    await write(exchange, bytes.subarray(offset))
  }
  return signal.aborted
}

/** Writes bytes at once, or in chunks that are sent separately. */
async function writePieces(exchange: Exchange, bytes: Uint8Array): Promise<void> {
  const { fault, sandbox, signal } = exchange
  const usual = fault && faultActions[fault.action].pieces
  if (usual === undefined) return write(exchange, bytes)
  const { size = usual.size, ms = usual.ms } = fault ?? {}
  for (let at = 0; at < bytes.length; at += size) {
    if (ms > 0) await sleep(sandbox.clock, ms, signal)
    await write(exchange, bytes.subarray(at, at + size))
    await flush(exchange)
  }
}

/** Writes, and waits if the client reads more slowly than the sandbox writes. */
async function write({ outgoing, signal }: Exchange, bytes: Uint8Array): Promise<void> {
  if (bytes.length === 0 || signal.aborted || outgoing.write(bytes)) return
  await once(outgoing, 'drain', { signal })
}

/** Waits until everything written so far has been sent: an empty write completes after all earlier ones. */
async function flush({ outgoing: { socket }, signal }: Exchange): Promise<void> {
  if (socket !== null && !signal.aborted) await new Promise((resolve) => socket.write('', resolve))
}
