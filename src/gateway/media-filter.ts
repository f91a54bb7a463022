export interface MediaSink {
  /** ASCII bytes, escapes resolved, cut anywhere. Valid until the promise settles. */
  push(text: Buffer): Promise<void>
  end(): Promise<void>
}

const QUOTE = 34
const BACKSLASH = 92
const LINE_FEED = 10
const CARRIAGE_RETURN = 13

/** Up to the content of a string: `b64_json`, or `url` with a data URL. No string of JSON contains these quotes unescaped. */
const mediaStart = /"(?:b64_json"\s{0,16}:\s{0,16}"|url"\s{0,16}:\s{0,16}"(?=data:))/gi
const startOfStart = /"[\w":\s]{0,60}$/

/** What event streams have between two pieces of one string: line ends, labels, comments and other fields (quirk 5). */
const lineBreak = /[\r\n]+(?:data: ?)?(?:\w{0,16}:[^\r\n]*)?/g
/** PHP writes `\/`, and .NET `\u002B`. */
const escape = /\\(?:u([\da-f]{4})|(.))/gis
/** The beginning of either at the end of the bytes. */
const unfinished = /[\r\n]+(?:data: ?)?\w{0,16}(?::[^\r\n]*)?$|(?<=(?<!\\)(?:\\\\)*)\\(?:u[\da-f]{0,3})?$/i
const unfinishedBytes = 1024

/**
 * Takes media out of a reply before it is read as text, JSON or an event stream alike: the content of a string is only
 * searched for its end, so that it may be of any size.
 * @param text gets everything but media, with the mark in place of each
 * @param open a string begins that may be media: gives where its content goes; undefined leaves it in the text
 */
export function createMediaFilter(
  mark: Buffer,
  text: (bytes: Buffer) => Promise<void>,
  open: () => MediaSink | undefined,
) {
  /** Bytes that can be judged only with the next ones. */
  let held = Buffer.alloc(0)
  let sink: MediaSink | undefined

  /** @returns the bytes after what has been read: the content of a string */
  const readText = async (bytes: Buffer): Promise<Buffer> => {
    const characters = bytes.toString('latin1')
    let at = 0
    for (const { 0: found, index } of characters.matchAll(mediaStart)) {
      await text(bytes.subarray(at, (at = index + found.length)))
      sink = open()
      if (sink === undefined) continue
      await text(mark)
      return bytes.subarray(at)
    }
    const end =
      bytes.length -
      (startOfStart.exec(characters.slice(Math.max(at, characters.length - 61)))?.[0].length ?? 0)
    if (at < end) await text(bytes.subarray(at, end))
    return hold(bytes, end)
  }

  const readMedia = async (to: MediaSink, bytes: Buffer): Promise<Buffer> => {
    const quote = endOfString(bytes)
    const end = quote === -1 ? bytes.length - unfinishedLength(bytes) : quote
    if (end > 0) await to.push(plain(bytes.subarray(0, end)))
    if (quote === -1) return hold(bytes, end)
    sink = undefined
    await to.end()
    return bytes.subarray(quote)
  }

  /** A copy, so that the chunk is not kept in memory. */
  const hold = (bytes: Buffer, from: number): Buffer => {
    held = Buffer.from(bytes.subarray(from))
    return bytes.subarray(bytes.length)
  }

  return {
    async push(chunk: Buffer) {
      let rest = held.length === 0 ? chunk : Buffer.concat([held, chunk])
      held = Buffer.alloc(0)
      while (rest.length > 0) rest = await (sink === undefined ? readText(rest) : readMedia(sink, rest))
    },
    async end() {
      if (sink === undefined && held.length > 0) await text(held)
    },
  }
}

/** The first quote that is not escaped, or -1. The bytes do not begin inside an escape. */
function endOfString(bytes: Buffer): number {
  let quote = bytes.indexOf(QUOTE)
  for (; quote !== -1; quote = bytes.indexOf(QUOTE, quote + 1)) {
    let first = quote
    while (first > 0 && bytes[first - 1] === BACKSLASH) first--
    if ((quote - first) % 2 === 0) return quote
  }
  return -1
}

function unfinishedLength(bytes: Buffer): number {
  const tail = bytes.toString('latin1', Math.max(0, bytes.length - unfinishedBytes))
  return unfinished.exec(tail)?.[0].length ?? 0
}

/** The content without escapes and line ends. A character beyond ASCII becomes a byte that is not base64. */
function plain(content: Buffer): Buffer {
  if (![BACKSLASH, LINE_FEED, CARRIAGE_RETURN].some((byte) => content.includes(byte))) return content
  const characters = content
    .toString('latin1')
    .replaceAll(lineBreak, '')
    .replaceAll(escape, (_, code: string | undefined, letter: string) => {
      if (code !== undefined) return String.fromCharCode(Math.min(parseInt(code, 16), 0xff))
      return /[bfnrt]/.test(letter) ? ' ' : letter
    })
  return Buffer.from(characters, 'latin1')
}
