/** What becomes of the messages of a reply. */
export interface MessageHandlers {
  /** Offered the text of a message before it is parsed; true when nothing more is needed of it. */
  skim?(text: string): boolean
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
}
