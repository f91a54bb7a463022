import { ContractError } from '../../errors.ts'
import { malformed, tooLarge } from '../reply-errors.ts'

/** A value that may hold an image: in `data[item]`, or, with item null, at the top of an event. */
export interface ImageField {
  readonly item: number | null
  readonly field: 'b64_json' | 'url'
}

/** Takes the text of one image. */
export interface ImageText {
  /** ASCII bytes, escapes resolved, cut anywhere. */
  push(text: Buffer): Promise<void>
  end(): Promise<void>
}

export interface DocumentHandlers {
  /**
   * The text of an image begins; in the field `url`, what follows `data:`.
   * @param head returns the object up to here, closed as if nothing followed; to be called at once
   */
  image(field: ImageField, head: () => string): ImageText
  /** A JSON object has ended: its text, with `null` in place of the images. */
  document(text: string): Promise<void>
}

/** Reads JSON objects from bytes while they arrive. */
export interface DocumentScanner {
  /**
   * Reads to the end of an object, or of the bytes; resolves with how many it has read.
   * @throws ContractError for what is not JSON, too large or too deep; whatever the handlers throw
   */
  read(bytes: Buffer): Promise<number>
  /** Between two objects. */
  readonly idle: boolean
  /** Inside the text of an image. */
  readonly inImage: boolean
  /** How many bytes of objects have been read; what is between them does not count. */
  readonly bytesRead: number
}

/** The limit on one object without its images. */
const maxKeptBytes = 32 * 1_048_576

const QUOTE = 34
const BACKSLASH = 92
const OPEN_ARRAY = 91
const CLOSE_ARRAY = 93
const OPEN_OBJECT = 123
const CLOSE_OBJECT = 125
const COMMA = 44
const COLON = 58
const marks = new Set([OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY, COMMA, COLON])
/** What may be between objects: white space, the brackets and commas of an array of them, record separators. */
const between = new Set([32, 9, 10, 13, 30, 44, 91, 93])

/** The beginning of a URL that contains the image. */
const dataStart = '"data:'
const nullWord = Buffer.from('null')

/**
 * Splits a stream of bytes into JSON objects, and takes the images out of them on the way. Images are only searched for
 * their end, so that a reply may be of any size. The rest is kept for JSON.parse.
 */
export function createDocumentScanner(handlers: DocumentHandlers): DocumentScanner {
  const kept = createGrowingBytes()
  const tracker = createStructureTracker()
  let image: { readonly read: StringReader; readonly text: ImageText } | undefined
  /** The string that is being read, if it is not an image: a URL may still turn out to be one. */
  let string: 'key' | 'url' | 'other' | undefined
  let stringFrom = 0
  let escaped = false
  let complete = false
  let bytesRead = 0

  const keep = (bytes: Buffer, from: number, to: number) => {
    if (kept.length + to - from > maxKeptBytes) throw tooLarge(maxKeptBytes)
    kept.add(bytes, from, to)
  }

  const beginImage = (field: ImageField, from: number) => {
    kept.cut(from)
    kept.add(nullWord, 0, nullWord.length)
    string = undefined
    image = { read: createStringReader(), text: handlers.image(field, () => `${kept.text()}}`) }
  }

  const beginString = () => {
    stringFrom = kept.length - 1
    const field = tracker.atKey ? undefined : tracker.imageField
    if (field?.field === 'b64_json') return beginImage(field, stringFrom)
    string = tracker.atKey && tracker.keyMatters ? 'key' : field === undefined ? 'other' : 'url'
  }

  /** Reads brackets, numbers and words up to the beginning of a string or the end of an object. */
  const readStructure = (bytes: Buffer, start: number): number => {
    let from = start
    for (let at = start; at < bytes.length; at++) {
      const byte = bytes[at]!
      if (tracker.depth === 0) {
        from = at
        if (byte === OPEN_OBJECT) tracker.mark(byte)
        else if (!between.has(byte)) throw malformed()
      } else if (byte === QUOTE) {
        keep(bytes, from, at + 1)
        beginString()
        return at + 1
      } else if (marks.has(byte)) {
        tracker.mark(byte)
        complete = tracker.depth === 0
        if (!complete) continue
        keep(bytes, from, at + 1)
        return at + 1
      }
    }
    if (tracker.depth > 0) keep(bytes, from, bytes.length)
    return bytes.length
  }

  const readString = (bytes: Buffer, from: number): number => {
    // Of a URL, first only as much as shows whether it is an image.
    const wanted = string === 'url' ? dataStart.length - (kept.length - stringFrom) : Infinity
    const to = Math.min(bytes.length, from + wanted)
    let ended = false
    let at = from
    while (at < to && !ended) {
      const byte = bytes[at++]!
      if (escaped) escaped = false
      else if (byte === BACKSLASH) escaped = true
      else ended = byte === QUOTE
    }
    keep(bytes, from, at)
    if (ended) {
      if (string === 'key') tracker.key(keyOf(kept.text(stringFrom)))
      string = undefined
    } else if (kept.length - stringFrom === dataStart.length && string === 'url') {
      string = 'other'
      if (kept.text(stringFrom).toLowerCase() === dataStart) beginImage(tracker.imageField!, stringFrom)
    }
    return at
  }

  const readImage = async ({ read, text }: NonNullable<typeof image>, bytes: Buffer, from: number) => {
    const { content, next, ended } = read(bytes, from)
    if (content.length > 0) await text.push(content)
    if (ended) {
      image = undefined
      await text.end()
    }
    return next
  }

  return {
    async read(bytes) {
      const wasIdle = tracker.depth === 0
      let at = 0
      while (at < bytes.length && !complete) {
        if (image !== undefined) at = await readImage(image, bytes, at)
        else if (string !== undefined) at = readString(bytes, at)
        else at = readStructure(bytes, at)
      }
      if (!wasIdle || complete || tracker.depth > 0) bytesRead += at
      if (complete) {
        complete = false
        const text = kept.text()
        kept.cut(0)
        await handlers.document(text)
      }
      return at
    },
    get idle() {
      return tracker.depth === 0
    },
    get inImage() {
      return image !== undefined
    },
    get bytesRead() {
      return bytesRead
    },
  }
}

/** Reads all of the bytes, however many objects there are in them. */
export async function readAll(scanner: DocumentScanner, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await scanner.read(bytes.subarray(at))
}

function keyOf(literal: string): string {
  if (!literal.includes('\\')) return literal.slice(1, -1)
  try {
    return JSON.parse(literal) as string
  } catch {
    throw malformed()
  }
}

/** The limit on nesting (fault S12). */
const maxDepth = 512

/**
 * Follows the brackets, commas and keys of one JSON object; whether they are in order is left to JSON.parse.
 * Images are at `{ data: [ { b64_json, url } ] }` and `{ b64_json, url }` (wire notes, section 4).
 */
function createStructureTracker() {
  const stack: number[] = []
  let atKey = false
  let rootKey = ''
  let itemKey = ''
  let item = 0
  const inItem = () =>
    stack.length === 3 && rootKey === 'data' && stack[1] === OPEN_ARRAY && stack[2] === OPEN_OBJECT

  return {
    get depth() {
      return stack.length
    },
    /** Whether a string that begins now is the key of an object. */
    get atKey() {
      return atKey
    },
    /** Whether the text of that key matters here. */
    get keyMatters() {
      return stack.length === 1 || inItem()
    },
    /** The value that begins now, if it may hold an image. */
    get imageField(): ImageField | undefined {
      const isItem = inItem()
      if (stack.length !== 1 && !isItem) return undefined
      const field = isItem ? itemKey : rootKey
      return field === 'b64_json' || field === 'url' ? { item: isItem ? item : null, field } : undefined
    },
    key(text: string) {
      if (stack.length === 1) rootKey = text
      else itemKey = text
    },
    /** One of `{ } [ ] , :`. @throws ContractError when the nesting is too deep */
    mark(byte: number) {
      if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        if (stack.length === maxDepth) {
          throw new ContractError('reply_too_deep', `The reply is nested more than ${maxDepth} levels deep.`)
        }
        stack.push(byte)
        if (stack.length === 2) item = 0
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) stack.pop()
      else if (byte === COMMA && stack.length === 2) item++
      atKey = (byte === OPEN_OBJECT || byte === COMMA) && stack.at(-1) === OPEN_OBJECT
    },
  }
}

/** Collects bytes in one buffer that doubles as it fills: small pieces do not hold on to the chunks they came in. */
function createGrowingBytes() {
  let buffer = Buffer.allocUnsafeSlow(4096)
  let length = 0
  return {
    get length() {
      return length
    },
    /** Adds a part of the bytes, copied. */
    add(bytes: Buffer, from: number, to: number) {
      const needed = length + to - from
      if (needed > buffer.length) {
        const larger = Buffer.allocUnsafeSlow(Math.max(needed, buffer.length * 2))
        buffer.copy(larger, 0, 0, length)
        buffer = larger
      }
      length += bytes.copy(buffer, length, from, to)
    },
    /** Takes away everything from this position on. */
    cut(shorter: number) {
      length = shorter
    },
    /** The bytes from a position on as UTF-8 text. */
    text: (from = 0) => buffer.toString('utf8', from, length),
  }
}

/** A piece of a JSON string. */
interface StringPiece {
  /** Its content, escapes resolved. A view of the bytes it was read from. */
  readonly content: Buffer
  /** Where the string continues, or what follows it begins. */
  readonly next: number
  /** Whether the closing quote has come. */
  readonly ended: boolean
}

/** Reads the rest of a JSON string from the bytes that hold it, a chunk at a time. */
type StringReader = (bytes: Buffer, from: number) => StringPiece

const LETTER_U = 117

const named: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

/**
 * A reader for one string of ASCII text, after its opening quote. The string is an image, so its end is searched with
 * `indexOf`. Escapes are rare, but PHP writes `\/` and .NET `\u002B`.
 * A character beyond ASCII becomes a byte that is not base64.
 */
function createStringReader(): StringReader {
  /** The beginning of an escape at the end of the last chunk. */
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
    // A copy, so that the chunk is not kept in memory.
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

function backslashesBefore(bytes: Buffer, end: number, from: number): number {
  let at = end
  while (at > from && bytes[at - 1] === BACKSLASH) at--
  return end - at
}

/** The length of an unfinished escape at the end of the bytes. */
function openEscapeLength(bytes: Buffer, from: number): number {
  for (let length = 1; length <= Math.min(5, bytes.length - from); length++) {
    const at = bytes.length - length
    if (bytes[at] !== BACKSLASH) continue
    const begins = backslashesBefore(bytes, at, from) % 2 === 0
    return begins && (length === 1 || bytes[at + 1] === LETTER_U) ? length : 0
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
