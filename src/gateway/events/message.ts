import type { Skimmer } from './skimmer.ts'

/** What becomes of the messages of a reply. */
export interface MessageHandlers {
  /** Takes messages of a usual form before they are parsed. */
  readonly skimmer?: Skimmer | undefined
  /** A JSON value and its text as it came. */
  onMessage(value: unknown, text: string): void
  /** A sign of life that carries nothing: a comment, a ping. */
  onComment?(): void
}

/** A reader of one framing. */
export interface TextReader {
  push(text: string): void
  /** The text has ended. */
  end(): void
  /** Nothing more is expected: `[DONE]` came. */
  readonly done: boolean
  /** How many characters have come of a message that has begun and not ended. */
  readonly pending: number
}
