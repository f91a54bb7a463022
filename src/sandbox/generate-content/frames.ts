import type { Frame } from '../http/reply.ts'
import type { Chunk } from './chunks.ts'

/** `data:` lines that end in CRLF, without event names and without `[DONE]` (wire facts, section 1, "Framing"). */
export function* eventFrames(chunks: Iterable<Chunk>): Generator<Frame> {
  for (const { body, pause, isLast } of chunks) {
    yield { text: `data: ${JSON.stringify(body)}\r\n\r\n`, pause, role: isLast ? 'terminal' : 'event' }
  }
}

/** One pretty-printed JSON array, as the service sends it when `alt=sse` was not asked for. */
export function* arrayFrames(chunks: Iterable<Chunk>): Generator<Frame> {
  let lead = '['
  for (const { body, pause, isLast } of chunks) {
    yield { text: `${lead}${JSON.stringify(body, null, 2)}\n`, pause, role: isLast ? 'terminal' : 'event' }
    lead = ',\n'
  }
  yield { text: ']', pause: 'none', role: 'closing' }
}
