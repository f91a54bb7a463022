import { crc32 } from 'node:zlib'

export interface Integrity {
  /** `unknown`: it does not say where it ends; `unchecked`: no parser for it; `short`: more data is announced. */
  readonly state: 'whole' | 'unknown' | 'unchecked' | 'short' | 'damaged'
  readonly damage?: string
}

export const unknownEnd: Integrity = { state: 'unknown' }
export const short = (damage: string): Integrity => ({ state: 'short', damage })
export const endsEarly = 'its data ends too early'
const whole: Integrity = { state: 'whole' }
const damaged = (damage: string): Integrity => ({ state: 'damaged', damage })
const noHeader: Integrity = { state: 'damaged', damage: 'its header cannot be read' }

/** Null where the container does not say, or has not yet. */
export interface Shape {
  /** In pixels, as stored: a camera's turn (EXIF orientation) is not applied. */
  readonly width: number | null
  readonly height: number | null
  readonly seconds: number | null
  /** Whether pixels of an image can be transparent, not whether any is; undefined when that is not known. */
  readonly hasAlpha: boolean | undefined
}

const noShape: Shape = { width: null, height: null, seconds: null, hasAlpha: undefined }

export interface Container {
  add(bytes: Uint8Array): void
  /** Of what has arrived so far; more may be added afterwards. */
  integrity(): Integrity
  readonly shape: Shape
}

type Walk = (image: ImageContainer) => Parser<Integrity>

const imageFormats: Readonly<Record<string, readonly [name: string, walk: Walk]>> = {
  'image/png': ['PNG', pngChunks],
  'image/jpeg': ['JPEG', jpegSegments],
  'image/webp': ['WEBP', webpChunks],
  'image/gif': ['GIF', gifBlocks],
}

/** Of a type without a parser nothing is known. */
export function openContainer(mediaType: string): Container {
  if (/^(?:image\/(?:avif|hei[cf])|video\/(?:mp4|quicktime))$/.test(mediaType)) return new IsoContainer()
  return Object.hasOwn(imageFormats, mediaType)
    ? new ImageContainer(...imageFormats[mediaType]!)
    : { add() {}, integrity: () => ({ state: 'unchecked' }), shape: noShape }
}

class ImageContainer implements Container {
  found: Shape | null = null
  readonly #name: string
  readonly #parser: PushParser<Integrity>
  readonly add = (bytes: Uint8Array): void => this.#parser.add(bytes)

  constructor(name: string, walk: Walk) {
    this.#name = name
    this.#parser = new PushParser(walk(this))
  }

  integrity(): Integrity {
    const { result, position } = this.#parser
    if (result === undefined) {
      return position === 'open' ? unknownEnd : short(`the ${this.#name} data ends too early`)
    }
    return result.state === 'whole' && this.found === null ? noHeader : result
  }

  get shape(): Shape {
    return this.found ?? noShape
  }
}

function sized(width: number, height: number, hasAlpha: boolean): Shape | null {
  return width === 0 || height === 0 ? null : { width, height, hasAlpha, seconds: null }
}

/** A chunk tRNS before the pixels gives colour types without alpha transparency too. */
function* pngChunks(image: ImageContainer): Parser<Integrity> {
  yield* skipBytes(8)
  let isBeforePixels = true
  for (let previous = '', type = ''; type !== 'IEND'; previous = type) {
    const header = yield* readBytes(8)
    const length = header.readUInt32BE()
    type = header.toString('latin1', 4)
    const head = yield* readBytes(Math.min(length, 13))
    if (previous === '') image.found = pngShape(type, head)
    else if (type === 'IDAT') isBeforePixels = false
    else if (type === 'tRNS' && isBeforePixels) image.found &&= { ...image.found, hasAlpha: true }
    const crc = yield* skipWithChecksum(length - head.length, crc32(head, crc32(header.subarray(4))))
    const isRight = (yield* readBytes(4)).readUInt32BE() === crc
    // The pixels do not depend on chunks whose name begins with a small letter.
    if (!isRight && /^[A-Z]/.test(type)) return damaged(`the checksum of its chunk ${type} is wrong`)
  }
  return whole
}

/** By colour type (PNG specification, table 11.1). */
const pngDepths: Readonly<Record<number, readonly number[]>> = {
  0: [1, 2, 4, 8, 16],
  2: [8, 16],
  3: [1, 2, 4, 8],
  4: [8, 16],
  6: [8, 16],
}

function pngShape(type: string, head: Buffer): Shape | null {
  const [depth = 0, colourType = 0] = head.subarray(8)
  const isHeader = type === 'IHDR' && head.length === 13 && pngDepths[colourType]?.includes(depth)
  if (!isHeader) return null
  return sized(head.readUInt32BE(0), head.readUInt32BE(4), colourType === 4 || colourType === 6)
}

/**
 * Segments with a length, which may contain a thumbnail with its own end marker, and between them entropy-coded data,
 * in which a byte ff is always followed by 00 or a restart marker.
 */
function* jpegSegments(image: ImageContainer): Parser<Integrity> {
  yield* skipBytes(2)
  for (;;) {
    yield* skipPastMark()
    let marker = 0xff
    // Fill bytes may precede a marker.
    while (marker === 0xff) marker = (yield* readBytes(1))[0]!
    if (marker === 0xd9) return whole
    const standsAlone = marker <= 0x01 || (marker >= 0xd0 && marker <= 0xd8)
    if (standsAlone) continue
    const length = Math.max(0, (yield* readBytes(2)).readUInt16BE() - 2)
    const head = yield* readBytes(Math.min(length, 5))
    // SOF0 to SOF15: C4, C8 and CC are in the same range, but are tables and an extension.
    if (/^c[^48c]$/.test(marker.toString(16)) && head.length === 5) {
      // A height of 0 means that only the first scan defines it.
      image.found ??= sized(head.readUInt16BE(3), head.readUInt16BE(1), false) ?? noShape
    }
    yield* skipBytes(length - head.length)
  }
}

/** Chunks after `RIFF`, size, `WEBP`. The size counts the bytes after it; a live recording may have none. */
function* webpChunks(image: ImageContainer): Parser<Integrity> {
  const size = (yield* readBytes(12)).readUInt32LE(4)
  const hasSize = size !== 0 && size !== 0xff_ff_ff_ff
  const length = hasSize ? Math.max(0, size - 4) : Infinity
  const first = yield* readBytes(Math.min(length, 18))
  if (first.length >= 8) image.found = webpShape(first.toString('latin1', 0, 4), first.subarray(8))
  yield* skipBytes(length - first.length, !hasSize)
  return whole
}

/** The first chunk of a WebP is lossy `VP8 `, lossless `VP8L`, or extended `VP8X` (RFC 9649). */
function webpShape(type: string, head: Buffer): Shape | null {
  if (head.length < (type === 'VP8L' ? 5 : 10)) return null
  if (type === 'VP8X') {
    return sized(head.readUIntLE(4, 3) + 1, head.readUIntLE(7, 3) + 1, (head[0]! & 0x10) !== 0)
  }
  if (type === 'VP8 ') {
    // Three bytes of frame tag, three fixed bytes, then the sizes in 14 bits each; the other two bits scale them.
    const isKeyFrame = (head[0]! & 1) === 0 && head.toString('latin1', 3, 6) === '\x9d\x01\x2a'
    return isKeyFrame ? sized(head.readUInt16LE(6) & 0x3fff, head.readUInt16LE(8) & 0x3fff, false) : null
  }
  // A fixed byte, then from the lowest bit on: 14 bits of width - 1, 14 of height - 1, one of alpha, a version of 0.
  const bits = head.readUInt32LE(1)
  if (type !== 'VP8L' || head[0] !== 0x2f || bits >>> 29 !== 0) return null
  return sized((bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1, (bits & 0x1000_0000) !== 0)
}

/** The control block (f9) of the first picture says whether a colour is transparent. */
function* gifBlocks(image: ImageContainer): Parser<Integrity> {
  yield* skipBytes(6)
  const screen = yield* readBytes(7)
  image.found = sized(screen.readUInt16LE(0), screen.readUInt16LE(2), false)
  yield* skipBytes(gifPaletteBytes(screen[4]!))
  for (let isBeforePictures = true; ;) {
    const kind = (yield* readBytes(1))[0]!
    if (kind === 0x3b) return whole
    // Some writers add an extra zero after the blocks.
    if (kind === 0) continue
    let extension = 0
    if (kind === 0x2c) {
      isBeforePictures = false
      yield* skipBytes(gifPaletteBytes((yield* readBytes(9))[8]!))
      // The LZW minimum code size.
      yield* skipBytes(1)
    } else if (kind === 0x21) extension = (yield* readBytes(1))[0]!
    else return damaged('its parts are out of order')
    for (let length = 1; length > 0;) {
      length = (yield* readBytes(1))[0]!
      const block = yield* readBytes(length)
      if (extension === 0xf9 && isBeforePictures && length > 0) {
        image.found &&= { ...image.found, hasAlpha: (block[0]! & 1) === 1 }
      }
    }
  }
}

function gifPaletteBytes(flags: number): number {
  return flags & 0x80 ? 3 << ((flags & 7) + 1) : 0
}

type Boxes = Parser<boolean>

/** More boxes than any real video has: hours in one-second fragments have about 20,000. */
const maxBoxes = 1_000_000
/** The relevant part of a header box is within this many bytes. */
const headerBytes = 128
const topTypes = new Set(['moov', 'moof', 'meta', 'mdat', 'mfra'])
const parentTypes = new Set(['mvex', 'trak', 'mdia', 'minf', 'stbl'])
const headerTypes = new Set(['mvhd', 'mehd', 'tkhd'])
/** Zero padding after the last box looks like a box without a name that extends to the end. */
const padding = '\0\0\0\0'

/**
 * ISO/IEC 14496-12: MP4, QuickTime, AVIF, HEIF. Only the index is read. Such a file may be cut between two boxes
 * unnoticed, so it is complete only if it contains the last data that the index refers to.
 */
class IsoContainer implements Container {
  #boxesLeft = maxBoxes
  #timescale = 0
  #duration: number | null = null
  #size: Pick<Shape, 'width' | 'height'> = noShape
  /** Boxes that matter on the top level; which of them was last. */
  readonly #found = new Set<string>()
  #lastType = ''
  /** A box of unknown size, which extends to the end. */
  #isUnbounded = false
  #hasFragments = false
  #lastChunk = 0
  readonly #parser = new PushParser(this.#boxes(Infinity, true))
  readonly add = (bytes: Uint8Array): void => this.#parser.add(bytes)

  integrity(): Integrity {
    const ended = this.#integrityAtEnd()
    const { position } = this.#parser
    // Data after a complete file is harmless.
    if (position === 'done') {
      return ended.state === 'whole' ? ended : damaged('its structure has impossible sizes')
    }
    if (position === 'inside') return short(endsEarly)
    return this.#isUnbounded && ended.state === 'whole' ? unknownEnd : ended
  }

  get shape(): Shape {
    const seconds = this.#duration && this.#timescale ? this.#duration / this.#timescale : null
    return { ...noShape, ...this.#size, seconds: seconds && Math.round(seconds * 1000) / 1000 }
  }

  #integrityAtEnd(): Integrity {
    const found = this.#found
    if (!['moov', 'moof', 'meta'].some((type) => found.has(type))) return short('it has no index')
    if (this.#lastChunk > this.#parser.received) return short(endsEarly)
    if (found.has('moof')) {
      if (this.#lastType === 'moof') return short(endsEarly)
      // Without mfra more fragments may be missing.
      return found.has('mfra') ? whole : unknownEnd
    }
    if (found.has('mdat')) return whole
    return this.#hasFragments ? short(endsEarly) : unknownEnd
  }

  *#boxes(length: number, isTop: boolean): Boxes {
    for (let left = length; left > 0;) {
      if (left < 8) {
        yield* skipBytes(left)
        return true
      }
      if (this.#boxesLeft-- === 0) return false
      const header = yield* readBytes(8, length === Infinity)
      let size = header.readUInt32BE()
      let used = 8
      if (size === 1 && left >= 16) {
        size = Number((yield* readBytes(8)).readBigUInt64BE())
        used = 16
      }
      // 0 means the rest of the file.
      if (size === 0) size = left
      if (size < used) return false
      size = Math.min(size, left)
      const type = header.toString('latin1', 4)
      if (!(yield* isTop ? this.#topBox(type, size - used) : this.#indexBox(type, size - used))) return false
      if (size === Infinity) return true
      left -= size
    }
    return true
  }

  *#topBox(type: string, length: number): Boxes {
    if (topTypes.has(type)) this.#found.add((this.#lastType = type))
    this.#isUnbounded ||= length === Infinity && type !== padding
    if (type === 'moov') return yield* this.#boxes(length, false)
    yield* skipBytes(length, length === Infinity)
    return true
  }

  *#indexBox(type: string, length: number): Boxes {
    this.#hasFragments ||= type === 'mvex'
    if (parentTypes.has(type)) return yield* this.#boxes(length, false)
    let read = 0
    if (type === 'stco' || type === 'co64') read = yield* this.#chunkOffsets(type === 'stco' ? 4 : 8, length)
    else if (headerTypes.has(type)) {
      read = Math.min(length, headerBytes)
      this.#readHeader(type, Buffer.concat([yield* readBytes(read)], headerBytes))
    }
    yield* skipBytes(length - read, length === Infinity)
    return true
  }

  /** @returns how many bytes it has read */
  *#chunkOffsets(width: 4 | 8, length: number): Parser<number> {
    if (length < 8) return 0
    const count = (yield* readBytes(8)).readUInt32BE(4)
    const end = 8 + Math.min(count, Math.floor((length - 8) / width)) * width
    for (let at = 8; at < end;) {
      const entries = yield* readBytes(Math.min(end - at, 256))
      for (let entry = 0; entry < entries.length; entry += width) {
        const offset = width === 4 ? entries.readUInt32BE(entry) : Number(entries.readBigUInt64BE(entry))
        this.#lastChunk = Math.max(this.#lastChunk, offset)
      }
      at += entries.length
    }
    return end
  }

  #readHeader(type: string, content: Buffer): void {
    const isLong = content[0] === 1
    if (type === 'mvhd') {
      this.#timescale = content.readUInt32BE(isLong ? 20 : 12)
      this.#duration = isoTime(content, isLong ? 24 : 16)
      // The duration of a file in fragments, whose movie header has none.
    } else if (type === 'mehd') this.#duration ||= isoTime(content, 4)
    else {
      // Audio tracks have no size. It is a fixed-point number, with whole pixels in the upper half.
      const at = isLong ? 88 : 76
      const [width, height] = [content.readUInt16BE(at), content.readUInt16BE(at + 4)]
      if (this.#size.width === null && width > 0 && height > 0) this.#size = { width, height }
    }
  }
}

function isoTime(content: Buffer, at: number): number | null {
  const isLong = content[0] === 1
  const time = isLong ? content.readBigUInt64BE(at) : BigInt(content.readUInt32BE(at))
  return time === 2n ** (isLong ? 64n : 32n) - 1n ? null : Number(time)
}

interface Want {
  readonly take?: number
  readonly skip?: number
  /** Stops after the first byte ff, unless 00 follows it in the same piece. */
  readonly pastMark?: boolean
  readonly crc?: number
  readonly mayEnd?: boolean
}

/** Requests bytes, and always gets as many, while its input is pushed in pieces. */
type Parser<Result> = Generator<Want, Result, Buffer>

const maxTake = 256

/** @param take at most 256 @param mayEnd whether the data may end before the first of them */
function* readBytes(take: number, mayEnd = false): Parser<Buffer> {
  return yield { take, mayEnd }
}

/** @param skip Infinity for all @param mayEnd whether the data may end within them */
function* skipBytes(skip: number, mayEnd = false): Parser<void> {
  if (skip > 0) yield { skip, mayEnd }
}

/** Most of the ff that 00 follows, which escapes them in JPEG, are skipped too. */
function* skipPastMark(): Parser<void> {
  yield { skip: Infinity, pastMark: true }
}

/** @returns the CRC-32, continued from that of what came before */
function* skipWithChecksum(skip: number, before: number): Parser<number> {
  return skip === 0 ? before : (yield { skip, crc: before }).readUInt32BE()
}

/** Nothing is kept but the bytes that the parser looks at. Bytes after its end are ignored. */
class PushParser<Result> {
  received = 0
  readonly #parser: Parser<Result>
  readonly #taken = Buffer.alloc(maxTake)
  #turn: IteratorResult<Want, Result>
  #count = 0
  #crc = 0

  constructor(parser: Parser<Result>) {
    this.#parser = parser
    this.#turn = parser.next()
  }

  add(bytes: Uint8Array): void {
    this.received += bytes.length
    for (let at = 0; this.#turn.done !== true;) {
      const { take, skip, pastMark = false, crc } = this.#turn.value
      const wanted = take ?? skip!
      let found = pastMark ? bytes.indexOf(0xff, at) : -1
      while (found !== -1 && bytes[found + 1] === 0) found = bytes.indexOf(0xff, found + 2)
      const piece = bytes.subarray(at, found === -1 ? at + wanted - this.#count : found + 1)
      if (take !== undefined) this.#taken.set(piece, this.#count)
      else if (crc !== undefined) this.#crc = crc32(piece, this.#count === 0 ? crc : this.#crc)
      this.#count += piece.length
      at += piece.length
      if (this.#count < wanted && found === -1) return
      if (take === undefined) this.#taken.writeUInt32BE(this.#crc)
      this.#turn = this.#parser.next(Buffer.from(this.#taken.subarray(0, take ?? 4)))
      this.#count = 0
    }
  }

  get result(): Result | undefined {
    return this.#turn.done === true ? this.#turn.value : undefined
  }

  /** `gap`: before optional bytes; `open`: in bytes that may end anywhere; `inside`: in required bytes. */
  get position(): 'gap' | 'open' | 'inside' | 'done' {
    if (this.#turn.done === true) return 'done'
    const { take, mayEnd = false } = this.#turn.value
    if (take === undefined) return mayEnd ? 'open' : 'inside'
    return mayEnd && this.#taken.subarray(0, this.#count).every((byte) => byte === 0) ? 'gap' : 'inside'
  }
}
