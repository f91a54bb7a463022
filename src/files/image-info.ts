import { readGifInfo } from './gif-info.ts'
import type { FoundShape, ImageShape } from './image-shape.ts'
import { readJpegInfo } from './jpeg-info.ts'
import { readPngInfo } from './png-info.ts'
import { readWebpInfo } from './webp-info.ts'

/** What the header of an image tells. */
export interface ImageInfo extends ImageShape {
  readonly format: ImageFormat
  readonly mediaType: `image/${ImageFormat}`
}

export type ImageFormat = 'png' | 'jpeg' | 'webp' | 'gif'

/** An image whose header says less than this many bytes from its start is one that hides it behind its metadata. */
export const imageInfoHeadBytes = 1024 * 1024

const readers: Readonly<Record<ImageFormat, (head: Buffer) => FoundShape>> = {
  png: readPngInfo,
  jpeg: readJpegInfo,
  webp: readWebpInfo,
  gif: readGifInfo,
}

/** The format that the first bytes tell (16 are enough), of those this program can look into. */
export function imageFormatOf(head: Uint8Array): ImageFormat | undefined {
  const start = Buffer.from(head.buffer, head.byteOffset, Math.min(head.length, 16)).toString('latin1')
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return 'png'
  if (start.startsWith('\xff\xd8\xff')) return 'jpeg'
  if (start.startsWith('RIFF') && start.startsWith('WEBP', 8)) return 'webp'
  return /^GIF8[79]a/.test(start) ? 'gif' : undefined
}

/**
 * Reads format, dimensions and transparency from the header of an image; nothing is decoded and no name is believed.
 * @param head the first bytes, `imageInfoHeadBytes` of them or the whole file
 * @returns undefined when it is none of the formats, or when its header is damaged or ends too early
 */
export function readImageInfo(head: Uint8Array): ImageInfo | undefined {
  const format = imageFormatOf(head)
  if (format === undefined) return undefined
  const found = readers[format](Buffer.from(head.buffer, head.byteOffset, head.length))
  if (found === undefined || found.width === 0 || found.height === 0) return undefined
  return { format, mediaType: `image/${format}`, ...found }
}
