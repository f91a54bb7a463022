import { crc32 } from 'node:zlib'
import { sniffMediaType } from './media-type.ts'
import {
  pushInto,
  skip,
  checksum,
  take,
  type Steps,
  damaged,
  short,
  uncheckedContainer,
  unknownEnd,
  whole,
  type ContainerReader,
} from './byte-steps.ts'
import { createMp4Reader } from './mp4-info.ts'
import { mediaKind, type MediaKind } from './media-file.ts'

/** The properties of an image according to its header. */
interface ImageShape {
  /** In pixels, as stored: a camera's turn (EXIF orientation) is not applied. */
  readonly width: number
  readonly height: number
  /** Whether pixels can be transparent, not whether any is. */
  readonly hasAlpha: boolean
}

/** The result of reading a header; undefined if it is damaged or incomplete. */
type FoundShape = ImageShape | undefined

/** The bit depths that each colour type may have (PNG specification, table 11.1). */
const depths: Readonly<Record<number, readonly number[]>> = {
  0: [1, 2, 4, 8, 16],
  2: [8, 16],
  3: [1, 2, 4, 8],
  4: [8, 16],
  6: [8, 16],
}

/** Reads the first chunk, IHDR; a chunk tRNS before the pixels gives colour types without alpha transparency too. */
function readPngInfo(head: Buffer): FoundShape {
  if (head.length < 33 || head.toString('latin1', 8, 16) !== '\0\0\0\rIHDR') return undefined
  const depth = head[24]!
  const colourType = head[25]!
  if (!depths[colourType]?.includes(depth)) return undefined
  return {
    width: head.readUInt32BE(16),
    height: head.readUInt32BE(20),
    hasAlpha: colourType === 4 || colourType === 6 || hasTransparencyChunk(head),
  }
}

function hasTransparencyChunk(head: Buffer): boolean {
  for (let at = 33; at + 8 <= head.length;) {
    const name = head.toString('latin1', at + 4, at + 8)
    if (name === 'tRNS') return true
    if (name === 'IDAT' || name === 'IEND') return false
    at += 12 + head.readUInt32BE(at)
  }
  return false
}

function readJpegInfo(head: Buffer): FoundShape {
  const steps = pushInto(jpegFrame())
  steps.add(head)
  return steps.result
}

/**
 * Walks the segments to the frame header (SOF0 to SOF15), past EXIF and its thumbnail, which has a frame of its own.
 * A height of 0, which only the first scan would define, counts as unreadable.
 */
function* jpegFrame(): Steps<FoundShape> {
  yield* skip(2)
  for (;;) {
    if ((yield* take(1))[0] !== 0xff) return undefined
    let marker = 0xff
    // Fill bytes may precede a marker.
    while (marker === 0xff) marker = (yield* take(1))[0]!
    const standsAlone = marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7)
    if (standsAlone) continue
    // A scan or the end before any frame: not a valid image.
    if (marker === 0xda || marker === 0xd9) return undefined
    const length = (yield* take(2)).readUInt16BE()
    if (length < 2) return undefined
    if (isFrame(marker)) {
      const frame = yield* take(5)
      return { width: frame.readUInt16BE(3), height: frame.readUInt16BE(1), hasAlpha: false }
    }
    yield* skip(length - 2)
  }
}

/** C4, C8 and CC are in the same range of markers, but are tables and an extension. */
function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
}

/** Reads the size of the logical screen; the first picture's control block says whether a colour is transparent. */
function readGifInfo(head: Buffer): FoundShape {
  if (head.length < 13) return undefined
  return { width: head.readUInt16LE(6), height: head.readUInt16LE(8), hasAlpha: hasTransparentColour(head) }
}

function hasTransparentColour(head: Buffer): boolean {
  const flags = head[10]!
  const paletteBytes = flags & 0x80 ? 3 << ((flags & 7) + 1) : 0
  // Only extensions (0x21) may precede the first picture.
  for (let at = 13 + paletteBytes; head[at] === 0x21;) {
    const isControl = head[at + 1] === 0xf9
    if (isControl) return ((head[at + 3] ?? 0) & 1) === 1
    at = endOfBlocks(head, at + 2)
  }
  return false
}

/** Sub-blocks, each after its length; a length of 0 ends them. */
function endOfBlocks(head: Buffer, start: number): number {
  let at = start
  while (at < head.length && head[at] !== 0) at += 1 + head[at]!
  return at + 1
}

/** Reads the first chunk after `RIFF`, size, `WEBP`: lossy `VP8 `, lossless `VP8L`, or extended `VP8X` (RFC 9649). */
function readWebpInfo(head: Buffer): FoundShape {
  const kind = head.toString('latin1', 12, 16)
  if (head.length < (kind === 'VP8L' ? 25 : 30)) return undefined
  switch (kind) {
    case 'VP8 ':
      return lossy(head)
    case 'VP8L':
      return lossless(head)
    case 'VP8X':
      return {
        width: head.readUIntLE(24, 3) + 1,
        height: head.readUIntLE(27, 3) + 1,
        hasAlpha: (head[20]! & 0x10) !== 0,
      }
    default:
      return undefined
  }
}

/** Three bytes of frame tag, three fixed bytes, then the sizes in 14 bits each; the other two bits scale them. */
function lossy(head: Buffer): FoundShape {
  const isKeyFrame = (head[20]! & 1) === 0
  if (!isKeyFrame || head.toString('latin1', 23, 26) !== '\x9d\x01\x2a') return undefined
  return { width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff, hasAlpha: false }
}

/** A fixed byte, then from the lowest bit on: 14 bits of width - 1, 14 of height - 1, one of alpha, a version of 0. */
function lossless(head: Buffer): FoundShape {
  const bits = head.readUInt32LE(21)
  if (head[20] !== 0x2f || bits >>> 29 !== 0) return undefined
  return {
    width: (bits & 0x3fff) + 1,
    height: ((bits >>> 14) & 0x3fff) + 1,
    hasAlpha: (bits & 0x1000_0000) !== 0,
  }
}

/** The format and properties of an image according to its header. */
export interface ImageInfo extends ImageShape {
  readonly format: ImageFormat
  readonly mediaType: `image/${ImageFormat}`
}

type ImageFormat = 'png' | 'jpeg' | 'webp' | 'gif'

/** How many bytes are enough to find the header, unless there is unusually long metadata before it. */
export const imageInfoHeadBytes = 1024 * 1024

const headerReaders: Readonly<Record<ImageFormat, (head: Buffer) => FoundShape>> = {
  png: readPngInfo,
  jpeg: readJpegInfo,
  webp: readWebpInfo,
  gif: readGifInfo,
}

/**
 * Reads format, dimensions and transparency from the header of an image; decodes nothing and ignores file names.
 * @param head the first bytes, `imageInfoHeadBytes` of them or the whole file
 * @returns undefined for any other format, or if the header is damaged or incomplete
 */
export function readImageInfo(head: Uint8Array): ImageInfo | undefined {
  const format = /^image\/(png|jpeg|webp|gif)$/.exec(sniffMediaType(head) ?? '')?.[1] as
    | ImageFormat
    | undefined
  if (format === undefined) return undefined
  return infoOf(format, headerReaders[format](Buffer.from(head.buffer, head.byteOffset, head.length)))
}

function infoOf(format: ImageFormat, shape: FoundShape): ImageInfo | undefined {
  if (shape === undefined || shape.width === 0 || shape.height === 0) return undefined
  return { format, mediaType: `image/${format}`, ...shape }
}

/** Checks the container of an image. */
interface ImageReader extends ContainerReader {
  /** The properties that the first bytes do not tell: metadata of any size may precede the header of a JPEG. */
  info?(): ImageInfo | undefined
}

const containerReaders: Readonly<Record<string, () => ImageReader>> = {
  png: () => follow('PNG', pngChunks()),
  jpeg: readJpeg,
  webp: () => readRiff('WEBP'),
  gif: () => follow('GIF', gifBlocks()),
  avif: createMp4Reader,
  heic: createMp4Reader,
  heif: createMp4Reader,
}

/**
 * Feed it from the first byte of the image on; bytes after its end are ignored.
 * @param format the media type's own word
 */
export function readContainer(format: string): ImageReader {
  return Object.hasOwn(containerReaders, format) ? containerReaders[format]!() : uncheckedContainer()
}

const disordered = 'its parts are out of order'
const endsTooEarly = (name: string) => short(`the ${name} data ends too early`)

/** @param walk returns true at the end, else what is wrong with the parts */
function follow(name: string, walk: Steps<true | string>): ContainerReader {
  const steps = pushInto(walk)
  return {
    add: (bytes) => steps.add(bytes),
    integrity() {
      if (steps.result === undefined) return steps.position === 'open' ? unknownEnd : endsTooEarly(name)
      return steps.result === true ? whole : damaged(steps.result)
    },
  }
}

/** Chunks of length, name, content and checksum, the last of them IEND. */
function* pngChunks(): Steps<true | string> {
  yield* skip(8)
  for (let name = ''; name !== 'IEND';) {
    const header = yield* take(8)
    name = header.toString('latin1', 4)
    const crc = yield* checksum(header.readUInt32BE(), crc32(header.subarray(4)))
    const isRight = (yield* take(4)).readUInt32BE() === crc
    // The pixels do not depend on chunks whose name begins with a small letter.
    if (!isRight && /^[A-Z]/.test(name)) return `the checksum of its chunk ${name} is wrong`
  }
  return true
}

/**
 * Segments with a length, which may contain a thumbnail with its own end marker, and between them entropy-coded data,
 * in which a byte ff is always followed by 00 or a restart marker.
 */
function readJpeg(): ImageReader {
  const frame = pushInto(jpegFrame())
  let state: 'data' | 'marker' | 'length' | 'last' = 'data'
  let skip = 2
  let high: number | undefined
  let hasFrame = false
  return {
    info: () => infoOf('jpeg', frame.result),
    add(bytes) {
      frame.add(bytes)
      for (let at = 0; at < bytes.length && state !== 'last';) {
        if (skip > 0) {
          const step = Math.min(skip, bytes.length - at)
          skip -= step
          at += step
        } else if (state === 'data') {
          at = bytes.indexOf(0xff, at) + 1
          if (at === 0) return
          state = 'marker'
        } else if (state === 'marker') {
          hasFrame ||= isFrame(bytes[at]!)
          state = afterMarker(bytes[at++]!)
        } else if (high === undefined) {
          high = bytes[at++]!
        } else {
          skip = Math.max(0, high * 256 + bytes[at++]! - 2)
          high = undefined
          state = 'data'
        }
      }
    },
    integrity() {
      if (state !== 'last') return endsTooEarly('JPEG')
      // The frame header may be beyond the bytes that are kept, so its presence has to suffice.
      return hasFrame ? whole : damaged('its header cannot be read')
    },
  }
}

function afterMarker(code: number): 'data' | 'marker' | 'length' | 'last' {
  if (code === 0xff) return 'marker'
  if (code === 0xd9) return 'last'
  const standsAlone = code <= 0x01 || (code >= 0xd0 && code <= 0xd8)
  return standsAlone ? 'data' : 'length'
}

function readRiff(name: string): ContainerReader {
  return follow(name, riffContent())
}

/** The size of a RIFF file is at byte 4 and counts the bytes after it. A live recording may have no size. */
function* riffContent(): Steps<true | string> {
  yield* skip(4)
  const length = (yield* take(4)).readUInt32LE()
  const hasLength = length !== 0 && length !== 0xff_ff_ff_ff
  yield* skip(hasLength ? length : Infinity, !hasLength)
  return true
}

/** A logical screen with its palette, then images and extensions with data in sub-blocks, and 3b as the last byte. */
function* gifBlocks(): Steps<true | string> {
  yield* skip(paletteBytes((yield* take(13))[10]!))
  for (;;) {
    const kind = (yield* take(1))[0]!
    if (kind === 0x3b) return true
    if (kind === 0x2c) {
      yield* skip(paletteBytes((yield* take(9))[8]!))
      // The LZW minimum code size.
      yield* skip(1)
    } else if (kind === 0x21) yield* skip(1)
    // Some writers add an extra zero after the blocks.
    else if (kind !== 0) return disordered
    if (kind === 0) continue
    for (let length = 1; length > 0;) {
      length = (yield* take(1))[0]!
      yield* skip(length)
    }
  }
}

function paletteBytes(flags: number): number {
  return flags & 0x80 ? 3 << ((flags & 7) + 1) : 0
}

export interface ImageFacts {
  /** `png`, `jpeg`, `webp`, `gif`, the media type's own word for another, or `bin` for an unknown one. */
  readonly format: string
  /** In pixels; null where the header cannot be read. */
  readonly width: number | null
  readonly height: number | null
}

export const imageKind: MediaKind<ImageFacts> = mediaKind({
  noun: 'image',
  // Enough for the brands of an AVIF.
  signatureBytes: 32,
  headBytes: imageInfoHeadBytes,
  openReader: (mediaType) => readContainer(formatOf(mediaType)),
  describe(mediaType, reader, head) {
    const info = readImageInfo(head) ?? reader.info?.()
    const found = reader.integrity()
    const isReadable = info !== undefined || !/^image\/(png|webp|gif)$/.test(mediaType)
    const { width = null, height = null } = info ?? {}
    return {
      facts: { format: formatOf(mediaType), width, height },
      integrity: found.state === 'whole' && !isReadable ? damaged('its header cannot be read') : found,
    }
  },
  hint: 'Add --raw to see the reply as it was received.',
})

function formatOf(mediaType: string): string {
  return /^image\/(.+)/.exec(mediaType)?.[1] ?? 'bin'
}
