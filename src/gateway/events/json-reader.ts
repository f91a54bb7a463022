import { createJsonValueSplitter } from './json-values.ts'
import type { MessageHandlers, TextReader } from './message.ts'
import { cut, malformed, tooLarge } from './reader-errors.ts'

/** Reads a reply that is JSON from its first character: one object, several, or an array of them. */
export function createJsonReader(handlers: MessageHandlers, limit: number): TextReader {
  const splitter = createJsonValueSplitter(
    (text) => handlers.onMessage(parseMessage(text, limit), text),
    () => {
      throw malformed()
    },
  )
  return {
    push(text) {
      splitter.feed(text)
      if (splitter.pendingLength > limit) throw tooLarge(limit)
    },
    end() {
      if (splitter.pendingLength > 0) throw cut()
    },
    done: false,
    get pending() {
      return splitter.pendingLength
    },
  }
}

/** A message as a value. @throws ContractError when it is not JSON, or longer than the limit */
export function parseMessage(text: string, limit: number): unknown {
  if (text.length > limit) throw tooLarge(limit)
  try {
    return JSON.parse(text)
  } catch {
    throw malformed()
  }
}
