import { formsOf } from '../../redact/forms.ts'
import { createMatcher } from '../../redact/matcher.ts'
import { stringsIn } from '../../redact/spans.ts'

/** Looks for secrets in what is to be recorded, also for those that are split between the pieces of a text. */
export interface SecretSearch {
  /**
   * Looks at the next piece of a text.
   * @param channel the text that it is a piece of
   */
  look(piece: string, channel?: string): void
  /** Looks at an event of a stream: as it is, and at its strings, which continue those of earlier events. */
  lookAtEvent(text: string): void
  /** What was found, in words; never the secret itself. */
  readonly found: string | undefined
}

/** What keys look like. Nothing may precede them that could be base64: long base64 contains anything. */
const keyForms: readonly (readonly [what: string, form: RegExp])[] = [
  ['a key (sk-…)', /(?<![\w+/-])sk-(?=[\w-]{0,200}\d)[\w-]{20,}/],
  ['a key (AIza…)', /(?<![\w+/-])AIza[\w-]{35}(?![\w+/-])/],
  ['an access token (ya29.…)', /(?<![\w+/-])ya29\.[\w-]{20,}/],
  ['a bearer token', /\bBearer\s+[\w.~+/-]{20,}/i],
  ['a key (AKIA…)', /(?<![\w+/])A[KS]IA[0-9A-Z]{16}(?![\w+/])/],
  ['a token (ghp_…)', /(?<![\w+/])gh[pousr]_\w{36,}/],
  ['a JSON Web Token', /(?<![\w+/-])eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}/],
  ['a signed URL', /[?&](?:sig|signature|x-amz-signature|x-goog-signature)=[\w%+/-]{20,}/i],
  ['a private key', /-----BEGIN [A-Z ]*PRIVATE KEY-----/],
]

/** So much of each text is looked at again with the next piece: all that shows a secret, also in base64. */
const overlap = 512
/** At most so many texts are followed at once; the oldest are given up. */
const maxChannels = 1000
/** Base64 is decoded up to this length: longer runs are media. */
const maxEncodedLength = 16_384

/** @param known the secrets in use, which are found in every form; keys of the usual forms always are */
export function createSecretSearch(known: readonly string[]): SecretSearch {
  const matcher = createMatcher(known.filter((secret) => secret !== '').flatMap(formsOf))
  const ends = new Map<string, string>()
  let found: string | undefined

  const search = (text: string): string | undefined => {
    if (matcher.find(text).length > 0) return 'the key in use'
    const plain = withoutEscapes(text)
    if (plain !== text && matcher.find(plain).length > 0) return 'the key in use'
    return keyFormIn(plain) ?? encodedKeyIn(plain)
  }
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
    lookAtEvent(text) {
      look(text)
      const data = dataOf(text)
      for (const { start, end, channel } of stringsIn(data)) {
        look(decoded(data.slice(start, end)), `of ${channel}`)
      }
    },
    get found() {
      return found
    },
  }
}

function keyFormIn(text: string): string | undefined {
  return keyForms.find(([, form]) => form.test(text))?.[0]
}

/** A key of a usual form in base64, at any offset. */
function encodedKeyIn(text: string): string | undefined {
  for (const [run] of text.matchAll(/[\w+/-]{32,}/g)) {
    if (run.length > maxEncodedLength) continue
    for (let offset = 0; offset < 4; offset++) {
      const what = keyFormIn(Buffer.from(run.slice(offset), 'base64').toString('latin1'))
      if (what !== undefined) return `${what} in base64`
    }
  }
  return undefined
}

/** Escapes of ASCII in JSON, and of slashes, also in JSON within JSON. */
function withoutEscapes(text: string): string {
  if (!text.includes('\\')) return text
  return text.replace(/\\+(?:u00([2-7][\da-f])|(\/))/gi, (_, code?: string) =>
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
