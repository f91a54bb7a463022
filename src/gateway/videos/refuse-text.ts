import { ContractError } from '../../errors.ts'
import { readErrorBody } from '../error-body.ts'

/** As much of a text is read as its message may need. */
const longestText = 65_536

const isBlank = (byte: number) => byte === 32 || (byte >= 9 && byte <= 13)

/**
 * Passes on content that may be a video. What begins as JSON or HTML is read instead, for its message.
 * No container of videos begins with white space, a brace or an angle bracket (fault F17).
 * @throws ContractError `not_a_video`
 */
export async function* refuseText(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const blanks: Uint8Array[] = []
  const decoder = new TextDecoder()
  let kind: 'unknown' | 'video' | 'text' = 'unknown'
  let text = ''
  for await (const chunk of body) {
    if (kind === 'unknown') {
      const first = chunk.find((byte) => !isBlank(byte))
      if (first === undefined && blanks.length < 100) {
        // The memory of a chunk is used again.
        blanks.push(Buffer.from(chunk))
        continue
      }
      kind = first !== undefined && '{[<'.includes(String.fromCharCode(first)) ? 'text' : 'video'
      if (kind === 'video') yield* blanks
    }
    if (kind === 'video') yield chunk
    else {
      text += decoder.decode(chunk, { stream: true })
      if (text.length > longestText) break
    }
  }
  if (kind === 'text') throw notAVideo(text)
  if (kind === 'unknown') yield* blanks
}

function notAVideo(text: string): ContractError {
  const { message } = readErrorBody(text)
  const said = message === undefined ? (/^\s*</.test(text) ? 'an HTML page' : 'JSON') : `this: ${message}`
  return new ContractError('not_a_video', `In place of the video came ${said}`, { phase: 'result' })
}
