import { hash } from 'node:crypto'
import type { Random } from '../seeded-random.ts'

/**
 * How fast replies are: at once, like a model (first token after about 150 ms, then about 20 ms from event to event),
 * or that many milliseconds between events.
 */
export type LatencyProfile = 'none' | 'natural' | number

/** Before a frame; a number is milliseconds, whatever the profile. */
export type Pause = 'none' | 'first' | 'token' | number

export type JobPacing = ReturnType<typeof pacingOf>

/**
 * How long a video job or a background response is queued and runs, and when to poll it again: four seconds in total, or
 * half a second with latency `none`, so that all states occur.
 */
export function pacingOf(latency: LatencyProfile) {
  if (latency === 'natural') return { pendingMs: 700, runningMs: 3300, pollMs: 1000 }
  if (latency === 'none') return { pendingMs: 100, runningMs: 400, pollMs: 100 }
  const stepMs = Math.round(latency)
  return { pendingMs: stepMs, runningMs: stepMs * 10, pollMs: Math.max(1, stepMs) }
}

export function paceOf(latency: LatencyProfile, random: Random) {
  return (pause: Pause): number => {
    if (typeof pause === 'number') return pause
    if (pause === 'none' || latency === 'none') return 0
    if (latency !== 'natural') return latency
    return (pause === 'first' ? 150 : 20) * (0.6 + 0.8 * random())
  }
}

/** A part of a reply that is written at once: an event of a stream, or a whole body. */
export interface Frame {
  readonly text: string
  /** Binary content in place of the text. Faults that change text ignore it. */
  readonly bytes?: Uint8Array
  readonly pause: Pause
  /** `terminal` is the event that completes the reply; `closing` is punctuation after it. */
  readonly role: 'event' | 'terminal' | 'closing'
}

/** Thrown by frames: what has been sent is flushed, and the connection closed. */
export class BrokenOff extends Error {
  override readonly name = 'BrokenOff'
}

export type Frames = Iterable<Frame> | AsyncIterable<Frame>

export function frameBytes({ text, bytes }: Frame): Uint8Array {
  return bytes ?? Buffer.from(text)
}

/** Before it is sent. Faults are injected into this form, so every endpoint supports all of them. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly frames: Frames
  /** One body of known length instead of a stream. */
  readonly isWhole: boolean
  /** Whether the request was accepted and generates something that a real gateway would bill. */
  readonly creates: boolean
  /** Whether it is the first answer to an `Idempotency-Key` once more. */
  readonly repeats?: true
  /** What the service writes if generation breaks off after that many events. */
  readonly breakOff?: (sent: number) => Iterable<Frame>
}

type Facts = Partial<Reply> & { readonly pause?: Pause }

export function wholeReply(
  body: string | Frames,
  contentType: string | undefined,
  { pause = 'none', headers, ...more }: Facts = {},
): Reply {
  return {
    status: 200,
    headers: { ...(contentType !== undefined && { 'content-type': contentType }), ...headers },
    frames: typeof body === 'string' ? [{ text: body, pause, role: 'terminal' }] : body,
    isWhole: true,
    creates: false,
    ...more,
  }
}

/** As OpenAI sends it. */
export function jsonReply(body: unknown, facts: Facts = {}): Reply {
  return wholeReply(JSON.stringify(body), 'application/json', facts)
}

export const googleJsonType = 'application/json; charset=UTF-8'

/** As Google sends it. */
export function googleReply(body: unknown, facts: Facts = {}): Reply {
  return wholeReply(`${JSON.stringify(body, null, 2)}\n`, googleJsonType, facts)
}

export function bytesReply(bytes: Uint8Array, mediaType: string): Reply {
  const etag = `"${hash('sha256', bytes)}"`
  return wholeReply([{ text: '', bytes, pause: 'first', role: 'terminal' }], mediaType, { headers: { etag } })
}

export function streamReply(frames: Frames, facts: Pick<Reply, 'headers' | 'breakOff'>): Reply {
  return { status: 200, frames, isWhole: false, creates: true, ...facts }
}

/** Breaks off before an event, with the error that the service writes then. */
export async function* brokenOff(
  frames: Frames,
  event: number,
  breakOff: Reply['breakOff'] = () => [],
): AsyncGenerator<Frame> {
  let sent = 0
  for await (const frame of frames) {
    if (sent + 1 === event || frame.role !== 'event') break
    sent++
    yield frame
  }
  yield* breakOff(sent)
}

export const eventHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
}

export function namedEvent(type: string, data: object, pause: Pause, role: Frame['role']): Frame {
  return { text: `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`, pause, role }
}
