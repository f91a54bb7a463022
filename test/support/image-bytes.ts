import { crc32, deflateSync } from 'node:zlib'

/** Channels of each PNG colour type. */
const channels: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 }

export interface PngShape {
  readonly width?: number
  readonly height?: number
  readonly colourType?: number
  readonly depth?: number
  /** Chunks between IHDR and the pixels. */
  readonly chunks?: readonly Uint8Array[]
  /** The rows, each without its filter byte; all zero unless given. */
  readonly rows?: readonly Uint8Array[]
}

/** A whole, valid PNG. A palette gets one black entry unless `chunks` has its own. */
export function pngBytes(shape: PngShape = {}): Buffer {
  const { width = 1, height = 1, colourType = 6, depth = 8, chunks = [] } = shape
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([depth, colourType, 0, 0, 0], 8)
  const rowBytes = Math.ceil((width * depth * channels[colourType]!) / 8)
  const rows = shape.rows ?? Array.from({ length: height }, () => new Uint8Array(rowBytes))
  const pixels = Buffer.concat(rows.flatMap((row) => [Buffer.of(0), row]))
  const palette = colourType === 3 ? [pngChunk('PLTE', Buffer.of(0, 0, 0))] : []
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    pngChunk('IHDR', header),
    ...palette,
    ...chunks,
    pngChunk('IDAT', deflateSync(pixels)),
    pngChunk('IEND', Buffer.alloc(0)),
  ])
}

/** A whole PNG of noise, which no compression makes small. */
export function noisyPng(width: number, height: number): Buffer {
  let state = width * 65_537 + height
  const rows = Array.from({ length: height }, () =>
    Uint8Array.from(
      { length: width * 4 },
      () => (state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff) >> 16,
    ),
  )
  return pngBytes({ width, height, rows })
}

export function pngChunk(name: string, content: Uint8Array): Buffer {
  const chunk = Buffer.alloc(12 + content.length)
  chunk.writeUInt32BE(content.length, 0)
  chunk.write(name, 4, 'latin1')
  chunk.set(content, 8)
  chunk.writeUInt32BE(crc32(chunk.subarray(4, 8 + content.length)), 8 + content.length)
  return chunk
}

/** A segment of a JPEG: a marker with content. */
export function jpegSegment(marker: number, content: Uint8Array): Buffer {
  const segment = Buffer.alloc(4 + content.length)
  segment.set([0xff, marker])
  segment.writeUInt16BE(2 + content.length, 2)
  segment.set(content, 4)
  return segment
}

export interface JpegShape {
  readonly width?: number
  readonly height?: number
  /** The marker of the frame header: 0xc0 is baseline, 0xc2 progressive. */
  readonly frame?: number
  /** What stands before the frame header. */
  readonly before?: readonly Uint8Array[]
}

/** The skeleton of a JPEG, whole as a container; its scan holds the bytes that only look like marks. */
export function jpegBytes({ width = 1, height = 1, frame = 0xc0, before = [] }: JpegShape = {}): Buffer {
  const header = Buffer.alloc(9)
  header[0] = 8
  header.writeUInt16BE(height, 1)
  header.writeUInt16BE(width, 3)
  header.set([1, 1, 0x11, 0], 5)
  return Buffer.concat([
    Buffer.of(0xff, 0xd8),
    ...before,
    jpegSegment(frame, header),
    jpegSegment(0xda, Buffer.of(1, 1, 0, 0, 63, 0)),
    Buffer.of(0x12, 0xff, 0x00, 0xd9, 0xff, 0xd3, 0x34, 0xff, 0x00),
    Buffer.of(0xff, 0xd9),
  ])
}

/** A RIFF container of the type WEBP with one chunk and what follows it. */
export function webpBytes(name: string, content: Uint8Array, after: Uint8Array = Buffer.alloc(0)): Buffer {
  const padding = content.length % 2
  const file = Buffer.alloc(20 + content.length + padding + after.length)
  file.write('RIFF', 0, 'latin1')
  file.writeUInt32LE(file.length - 8, 4)
  file.write(`WEBP${name}`, 8, 'latin1')
  file.writeUInt32LE(content.length, 16)
  file.set(content, 20)
  file.set(after, 20 + content.length + padding)
  return file
}

export interface GifShape {
  readonly width?: number
  readonly height?: number
  readonly transparent?: boolean
  /** Colours of the global palette, a power of two; none when 0. */
  readonly colours?: number
}

/** A whole GIF of one picture, with a comment before its control block. */
export function gifBytes({ width = 1, height = 1, transparent = false, colours = 2 }: GifShape = {}): Buffer {
  const size = Buffer.alloc(4)
  size.writeUInt16LE(width, 0)
  size.writeUInt16LE(height, 2)
  return Buffer.concat([
    Buffer.from('GIF89a'),
    size,
    Buffer.of(colours === 0 ? 0 : 0x80 | (Math.log2(colours) - 1), 0, 0),
    Buffer.alloc(3 * colours),
    Buffer.from('\x21\xfe\x05hello\x03you\0', 'latin1'),
    Buffer.of(0x21, 0xf9, 4, transparent ? 1 : 0, 0, 0, 0, 0),
    Buffer.from([0x2c, 0, 0, 0, 0, ...size, 0, 2, 2, 0x44, 1, 0]),
    Buffer.of(0x3b),
  ])
}
