import { sniffMediaType } from './media-type.ts'

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

/**
 * Walks the segments to the frame header (SOF0 to SOF15), past EXIF and its thumbnail, which has a frame of its own.
 * A height of 0, which only the first scan would define, counts as unreadable.
 */
function readJpegInfo(head: Buffer): FoundShape {
  for (let at = 2; at + 4 <= head.length;) {
    if (head[at] !== 0xff) return undefined
    const marker = head[at + 1]!
    if (marker === 0xff) {
      at += 1 // fill byte
    } else if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7)) {
      at += 2 // without content
    } else if (isFrame(marker)) {
      if (at + 9 > head.length) return undefined
      return { width: head.readUInt16BE(at + 7), height: head.readUInt16BE(at + 5), hasAlpha: false }
    } else {
      // A scan or the end before any frame: not a valid image.
      if (marker === 0xda || marker === 0xd9) return undefined
      const length = head.readUInt16BE(at + 2)
      if (length < 2) return undefined
      at += 2 + length
    }
  }
  return undefined
}

/** C4, C8 and CC are in the same range of markers, but are tables and an extension. */
export function isFrame(marker: number): boolean {
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

const readers: Readonly<Record<ImageFormat, (head: Buffer) => FoundShape>> = {
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
  const found = readers[format](Buffer.from(head.buffer, head.byteOffset, head.length))
  if (found === undefined || found.width === 0 || found.height === 0) return undefined
  return { format, mediaType: `image/${format}`, ...found }
}
