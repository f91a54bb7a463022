import type { Random } from '../seeded-random.ts'

/**
 * How fast replies are: at once, like a model (first token after about 150 ms, then about 20 ms from event to event),
 * or that many milliseconds between events.
 */
export type LatencyProfile = 'none' | 'natural' | number

/** What a frame waits for; a number is milliseconds, whatever the profile. */
export type Pause = 'none' | 'first' | 'token' | number

/** Milliseconds to wait before a frame. */
export type Pace = (pause: Pause) => number

export function paceOf(latency: LatencyProfile, random: Random): Pace {
  const typical =
    latency === 'natural'
      ? { first: 150, token: 20 }
      : latency === 'none'
        ? { first: 0, token: 0 }
        : undefined
  return (pause) => {
    if (typeof pause === 'number') return pause
    if (pause === 'none') return 0
    return typical === undefined ? Number(latency) : typical[pause] * (0.6 + 0.8 * random())
  }
}

/** A piece of a reply that is written at once: an event of a stream, or a whole body. */
export interface Frame {
  readonly text: string
  /** Bytes in place of the text, for what is not text. Faults that change text leave them alone. */
  readonly bytes?: Uint8Array
  /** What the sandbox waits for before it: nothing, the first token, the next token. */
  readonly pause: Pause
  /** `terminal` is the event that completes the reply; `closing` is punctuation after it. */
  readonly role: 'event' | 'terminal' | 'closing'
}

/** Pieces that are there already, or are made while the ones before them travel. */
export type Frames = Iterable<Frame> | AsyncIterable<Frame>

/** What a frame puts on the wire. */
export function frameBytes({ text, bytes }: Frame): Uint8Array {
  return bytes ?? Buffer.from(text)
}

/** All pieces of a reply. */
export async function allFrames(frames: Frames): Promise<Frame[]> {
  const all: Frame[] = []
  for await (const frame of frames) all.push(frame)
  return all
}

/** A reply before it meets the wire. Faults are played on this form, so every endpoint has all of them. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly frames: Frames
  /** One body of known length instead of a stream. */
  readonly isWhole: boolean
  /** The request was accepted and generates something that a real gateway would bill. */
  readonly creates: boolean
  /** What this endpoint's service writes when generation breaks off after so many events. */
  readonly breakOff: (sent: number) => Iterable<Frame>
}

/** A JSON document as a reply. */
export function jsonReply(
  body: unknown,
  { headers = {}, pretty = false, creates = false, pause = 'none' as Pause } = {},
): Reply {
  const text = pretty ? `${JSON.stringify(body, null, 2)}\n` : JSON.stringify(body)
  return {
    status: 200,
    headers: { 'content-type': 'application/json', ...headers },
    frames: [{ text, pause, role: 'terminal' }],
    isWhole: true,
    creates,
    breakOff: () => [],
  }
}
