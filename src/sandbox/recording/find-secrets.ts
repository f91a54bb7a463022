import { formsOf } from '../../redact/forms.ts'
import { keyFormIn } from '../../redact/key-forms.ts'
import { createMatcher } from '../../redact/matcher.ts'
import { stringsIn } from '../../redact/spans.ts'

/** So much of each text is looked at again with the next piece: all that shows a secret, also in base64. */
const overlap = 512
/** At most so many texts are followed at once; the oldest are given up. */
const maxChannels = 1000
/** Base64 is decoded up to this length: longer runs are media. */
const maxEncodedLength = 16_384

export type SecretSearch = ReturnType<typeof createSecretSearch>

/**
 * Looks for secrets in what is to be recorded, also for those that are split between the pieces of a text.
 * @param known the secrets in use, which are found in every form; keys of the usual forms always are
 */
export function createSecretSearch(known: readonly string[]) {
  const matcher = createMatcher(known.filter((secret) => secret !== '').flatMap(formsOf))
  const ends = new Map<string, string>()
  let found: string | undefined

  const inPlain = (text: string): string | undefined =>
    matcher.find(text).length > 0 ? 'the key in use' : keyFormIn(text)
  const search = (text: string): string | undefined => {
    const plain = withoutEscapes(text)
    const what = inPlain(text) ?? (plain === text ? undefined : inPlain(plain))
    if (what !== undefined) return what
    for (const run of encodedRuns(plain)) {
      for (let offset = 0; offset < 4; offset++) {
        const inside = inPlain(Buffer.from(run.slice(offset), 'base64').toString('latin1'))
        if (inside !== undefined) return `${inside} in base64`
      }
    }
    return undefined
  }
  /**
   * Looks at the next piece of a text.
   * @param channel the text that it is a piece of
   */
  const look = (piece: string, channel = '') => {
    if (found !== undefined || piece === '') return
    const text = (ends.get(channel) ?? '') + piece
    found = search(text)
    ends.delete(channel)
    ends.set(channel, text.slice(-overlap))
    if (ends.size > maxChannels) ends.delete(ends.keys().next().value!)
  }
  return {
    look,
    /** Looks at an event of a stream: as it is, and at its strings, which continue those of earlier events. */
    lookAtEvent(text: string) {
      look(text)
      const data = dataOf(text)
      for (const { start, end, channel } of stringsIn(data)) {
        look(decoded(data.slice(start, end)), `of ${channel}`)
      }
    },
    /** What was found, in words; never the secret itself. */
    get found() {
      return found
    },
  }
}

/** The shortest base64 that could hold a key of a usual form. */
const minEncodedLength = 32

/** The runs of base64 that are long enough for a key, and not so long that they are media. */
function* encodedRuns(text: string): Generator<string> {
  let start = 0
  // A pattern would need a stack as deep as the longest run.
  for (let at = 0; at <= text.length; at++) {
    if (at < text.length && isEncodedCharacter[text.charCodeAt(at)] === 1) continue
    const length = at - start
    if (length >= minEncodedLength && length <= maxEncodedLength) yield text.slice(start, at)
    start = at + 1
  }
}

/** By character code: those of both alphabets. */
const isEncodedCharacter = new Uint8Array(65_536)
for (const character of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_') {
  isEncodedCharacter[character.charCodeAt(0)] = 1
}

/** Escapes of ASCII in JSON, and of slashes, also in JSON within JSON. */
function withoutEscapes(text: string): string {
  if (!text.includes('\\')) return text
  return text.replace(/\\{1,8}(?:u00([2-7][\da-f])|(\/))/gi, (_, code?: string) =>
    code === undefined ? '/' : String.fromCharCode(parseInt(code, 16)),
  )
}

/** The data of an event of a stream, without the names of its fields. */
function dataOf(event: string): string {
  return event
    .split(/\r\n|\n|\r/)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5))
    .join('\n')
}

/** The text of a JSON string. */
function decoded(string: string): string {
  try {
    return JSON.parse(`"${string}"`) as string
  } catch {
    return string
  }
}
