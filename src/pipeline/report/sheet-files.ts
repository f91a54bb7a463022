import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import type { ReportFile } from '../../events/asset-report.ts'
import { decodeImage, encodeWebp, scalePicture } from '../../files/codecs.ts'

/** Where a contact sheet finds files, and where it will lie itself. Absolute paths. */
export interface SheetPlace {
  /** The manifest's folder. */
  readonly folder: string
  /** The folder of the sheet: links to files are relative to it. */
  readonly sheetFolder: string
  /** Whole pictures and videos are put into the sheet, instead of links to them. */
  readonly embeds?: boolean
}

/** What browsers show, by the element that shows it. */
const shownTypes: ReadonlyMap<string, 'img' | 'video'> = new Map([
  ['image/png', 'img'],
  ['image/jpeg', 'img'],
  ['image/webp', 'img'],
  ['image/gif', 'img'],
  ['image/avif', 'img'],
  ['image/svg+xml', 'img'],
  ['video/mp4', 'video'],
  ['video/webm', 'video'],
  ['video/quicktime', 'video'],
])

/** The element that shows a file of this type; undefined for what browsers do not show. */
export function shownAs({ media_type }: ReportFile): 'img' | 'video' | undefined {
  return shownTypes.get(media_type)
}

/** An address of the file from the sheet; undefined if its bytes are gone. */
export function linkTo({ folder, sheetFolder }: SheetPlace, { stored }: ReportFile): string | undefined {
  if (stored === null) return undefined
  const path = relative(sheetFolder, join(folder, stored)).split(sep)
  // With a dot in front nothing in the name can be taken for a scheme.
  return `./${path.map(encodeURIComponent).join('/')}`
}

/** Longest side in pixels, and quality of a WebP from 0 to 100: the first that is small enough is taken. */
const steps = [
  [480, 75],
  [400, 60],
  [280, 50],
  [200, 40],
  [120, 30],
] as const

/** A larger picture is linked only: it would take seconds and hundreds of megabytes to decode. */
const maxPixels = 25_000_000

/** A picture of any type that fits as it is, such as an icon. */
const maxUnchanged = 4_000

/**
 * A small version of a picture as a data URL.
 * @param maxBytes of the file in it; base64 adds a third
 * @returns undefined for what is gone, cannot be decoded, or cannot be made so small
 */
export async function thumbnail(
  { folder }: SheetPlace,
  file: ReportFile,
  maxBytes: number,
): Promise<string | undefined> {
  const { stored, media_type, width, height } = file
  if (stored === null || shownAs(file) !== 'img' || (width ?? 0) * (height ?? 0) > maxPixels) return undefined
  try {
    const path = join(folder, stored)
    if ((await sizeOfFile(path)) === undefined) return undefined
    const bytes = await readFile(path)
    if (bytes.length <= Math.min(maxUnchanged, maxBytes)) return dataUrl(media_type, bytes)
    const pixels = await decodeImage(bytes, media_type)
    for (const [side, quality] of steps) {
      const scale = Math.min(1, side / Math.max(pixels.width, pixels.height))
      const scaled = scalePicture(pixels, pixels.width * scale, pixels.height * scale)
      const small = await encodeWebp(scaled, quality)
      if (small.length <= maxBytes) return dataUrl('image/webp', small)
    }
  } catch {
    // A picture that cannot be decoded is linked, as one of an unknown type is.
  }
  return undefined
}

function dataUrl(mediaType: string, bytes: Uint8Array): string {
  return `data:${mediaType};base64,${Buffer.from(bytes).toString('base64')}`
}

/** Longer texts are shown by their beginning. */
const maxTextBytes = 20_000

/** The beginning of a text, JSON indented, and how many bytes are left; undefined if the file cannot be read. */
export async function textStart(
  { folder }: SheetPlace,
  { stored, media_type }: ReportFile,
): Promise<{ text: string; bytesLeft: number } | undefined> {
  if (stored === null) return undefined
  const path = join(folder, stored)
  const size = await sizeOfFile(path)
  if (size === undefined) return undefined
  const pieces: Buffer[] = []
  try {
    for await (const piece of createReadStream(path, { end: maxTextBytes - 1 })) pieces.push(piece as Buffer)
  } catch {
    return undefined
  }
  const bytes = Buffer.concat(pieces)
  // A character that is cut at the end stays in the decoder.
  const text = new TextDecoder().decode(bytes, { stream: true })
  const bytesLeft = Math.max(0, size - bytes.length)
  return { text: media_type.includes('json') && bytesLeft === 0 ? indented(text) : text, bytesLeft }
}

function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2)
  } catch {
    return json
  }
}

/** Undefined for what is no file: opening a pipe would wait for its writer. */
async function sizeOfFile(path: string): Promise<number | undefined> {
  const found = await stat(path).catch(() => undefined)
  return found?.isFile() ? found.size : undefined
}

/** Base64 has no padding inside: pieces of a multiple of three bytes can be encoded one by one. */
const pieceBytes = 3 * 256 * 1024

/** The base64 of a file, piece by piece; what can no longer be read is missing at the end. */
export async function* base64Of(path: string): AsyncIterable<string> {
  try {
    let rest: Buffer = Buffer.alloc(0)
    for await (const piece of createReadStream(path, {
      highWaterMark: pieceBytes,
    }) as AsyncIterable<Buffer>) {
      const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece])
      const whole = bytes.length - (bytes.length % 3)
      yield bytes.toString('base64', 0, whole)
      rest = bytes.subarray(whole)
    }
    yield rest.toString('base64')
  } catch {
    // The page shows that the picture is broken, and all else.
  }
}
