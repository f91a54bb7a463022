import { ModelgateError } from '../../../src/errors.ts'
import { createMessageReader } from '../../../src/gateway/message-reader.ts'

/** What a reader makes of some bytes. */
export interface Outcome {
  readonly messages: readonly unknown[]
  /** Whether `[DONE]` came. */
  readonly done: boolean
  /** The code of the error that ended the reading. Any other error than ours is thrown on. */
  readonly error: string | undefined
}

/** Reads bytes that arrive in these pieces, to their end. */
export function outcomeOf(pieces: Iterable<Uint8Array>, limit?: number): Outcome {
  const messages: unknown[] = []
  const reader = createMessageReader({ onMessage: (value) => messages.push(value) }, limit)
  let error: string | undefined
  try {
    for (const piece of pieces) reader.push(piece)
    reader.end()
  } catch (thrown) {
    if (!(thrown instanceof ModelgateError)) throw thrown
    error = thrown.code
  }
  return { messages, done: reader.done, error }
}
