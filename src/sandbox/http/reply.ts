import type { Pause } from './pacing.ts'

/** A piece of a reply that is written at once: an event of a stream, or a whole body. */
export interface Frame {
  readonly text: string
  /** What the sandbox waits for before it: nothing, the first token, the next token. */
  readonly pause: Pause
  /** `terminal` is the event that completes the reply; `closing` is punctuation after it. */
  readonly role: 'event' | 'terminal' | 'closing'
}

/** A reply before it meets the wire. Faults are played on this form, so every endpoint has all of them. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly frames: Iterable<Frame>
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
