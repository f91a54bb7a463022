/** A piece of a JSON string. */
export interface StringPiece {
  /** What it stands for, escapes resolved. A view of the bytes it was read from. */
  readonly content: Buffer
  /** Where the string goes on, or what follows it begins. */
  readonly next: number
  /** Whether the closing quote has come. */
  readonly ended: boolean
}

/** Reads the rest of a JSON string from the bytes that hold it, a chunk at a time. */
export type StringReader = (bytes: Buffer, from: number) => StringPiece

const QUOTE = 34
const BACKSLASH = 92
const LETTER_U = 117

const named: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

/**
 * A reader for one string of ASCII text, begun after its opening quote. Finding the end is left to
 * `indexOf`: the string is an image. Escapes are rare, but PHP writes `\/` and .NET `\u002B`.
 * A character beyond ASCII comes out as some byte that no base64 has.
 */
export function createStringReader(): StringReader {
  /** The beginning of an escape that the last chunk did not end. */
  let held = Buffer.alloc(0)
  return (bytes, from) => {
    if (held.length > 0) {
      const shift = held.length
      const joined = Buffer.concat([held, bytes.subarray(from)])
      held = Buffer.alloc(0)
      const piece = read(joined, 0)
      return { ...piece, next: from + piece.next - shift }
    }
    return read(bytes, from)
  }

  function read(bytes: Buffer, from: number): StringPiece {
    const end = endOfString(bytes, from)
    if (end !== -1) return { content: resolve(bytes.subarray(from, end)), next: end + 1, ended: true }
    const whole = bytes.length - openEscapeLength(bytes, from)
    // A copy: the chunk it was part of is not kept.
    if (whole < bytes.length) held = Buffer.from(bytes.subarray(whole))
    return { content: resolve(bytes.subarray(from, whole)), next: bytes.length, ended: false }
  }
}

/** The first quote that is not escaped, or -1. `from` is not inside an escape. */
function endOfString(bytes: Buffer, from: number): number {
  let quote = bytes.indexOf(QUOTE, from)
  while (quote !== -1 && backslashesBefore(bytes, quote, from) % 2 === 1) {
    quote = bytes.indexOf(QUOTE, quote + 1)
  }
  return quote
}

function backslashesBefore(bytes: Buffer, place: number, from: number): number {
  let at = place
  while (at > from && bytes[at - 1] === BACKSLASH) at--
  return place - at
}

/** How many of the last bytes begin an escape and do not end it. */
function openEscapeLength(bytes: Buffer, from: number): number {
  for (let length = 1; length <= Math.min(5, bytes.length - from); length++) {
    const place = bytes.length - length
    if (bytes[place] !== BACKSLASH) continue
    const begins = backslashesBefore(bytes, place, from) % 2 === 0
    return begins && (length === 1 || bytes[place + 1] === LETTER_U) ? length : 0
  }
  return 0
}

function resolve(content: Buffer): Buffer {
  if (!content.includes(BACKSLASH)) return content
  const text = content
    .toString('latin1')
    .replaceAll(/\\(?:u([\da-fA-F]{4})|(.))/gs, (_, code: string | undefined, letter: string) => {
      if (code !== undefined) return String.fromCharCode(Math.min(parseInt(code, 16), 0xff))
      return named[letter] ?? letter
    })
  return Buffer.from(text, 'latin1')
}
