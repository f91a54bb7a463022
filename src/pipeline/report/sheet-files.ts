import { open, readFile, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import type { ReportFile } from '../../events/asset-report.ts'
import { decodeImage, encodeWebp, scalePicture } from '../../files/codecs.ts'

/** Where a contact sheet finds files, and where it will lie itself. Absolute paths. */
export interface SheetPlace {
  readonly folder: string
  /** The folder of the sheet: links to files are relative to it. */
  readonly sheetFolder: string
  /** Whole pictures and videos are put into the sheet, instead of links to them. */
  readonly embeds: boolean
}

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

/** In bytes. A picture of any type that is put into the sheet as it is, such as an icon. */
const maxUnchanged = 4_000

/**
 * A small version of a picture as a data URL.
 * @param maxBytes of the file in it; base64 adds a third
 * @returns undefined for what is gone, cannot be decoded, or cannot be made so small: it is linked
 */
export async function thumbnail(
  { folder }: SheetPlace,
  file: ReportFile,
  maxBytes: number,
): Promise<string | undefined> {
  const { stored, media_type, width, height } = file
  if (stored === null || shownAs(file) !== 'img' || (width ?? 0) * (height ?? 0) > maxPixels) return undefined
  try {
    const bytes = await readRegular(join(folder, stored))
    if (bytes === undefined) return undefined
    if (bytes.length <= Math.min(maxUnchanged, maxBytes)) return dataUrl(media_type, bytes)
    const pixels = await decodeImage(bytes, media_type)
    for (const [side, quality] of steps) {
      const scale = Math.min(1, side / Math.max(pixels.width, pixels.height))
      const scaled = scalePicture(pixels, pixels.width * scale, pixels.height * scale)
      const small = await encodeWebp(scaled, quality)
      if (small.length <= maxBytes) return dataUrl('image/webp', small)
    }
  } catch {
    // As one of a type that is not known.
  }
  return undefined
}

/** The whole file as a data URL; undefined for what cannot be read, or is larger than a text can be (about 380 MB). */
export async function embedded({ folder }: SheetPlace, file: ReportFile): Promise<string | undefined> {
  if (file.stored === null) return undefined
  try {
    const bytes = await readRegular(join(folder, file.stored))
    return bytes && dataUrl(file.media_type, bytes)
  } catch {
    return undefined
  }
}

function dataUrl(mediaType: string, bytes: Uint8Array): string {
  return `data:${mediaType};base64,${Buffer.from(bytes).toString('base64')}`
}

/** Undefined for what is no file: opening a pipe would wait for its writer. */
async function readRegular(path: string): Promise<Buffer | undefined> {
  return (await stat(path)).isFile() ? await readFile(path) : undefined
}

/** The first bytes of a file, and how many it has; undefined for what is no file, or cannot be read. */
export async function startOf(
  path: string,
  maxBytes: number,
): Promise<{ readonly bytes: Buffer; readonly size: number } | undefined> {
  const found = await stat(path).catch(() => undefined)
  const file = found?.isFile() ? await open(path).catch(() => undefined) : undefined
  if (file === undefined) return undefined
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(maxBytes), 0, maxBytes, 0)
    return { bytes: buffer.subarray(0, bytesRead), size: found!.size }
  } catch {
    return undefined
  } finally {
    await file.close()
  }
}

/** In bytes. Longer texts are shown by their beginning. */
const maxText = 20_000

/** The beginning of a text, JSON indented, and how many bytes are left; undefined if the file cannot be read. */
export async function textStart(
  { folder }: SheetPlace,
  { stored, media_type }: ReportFile,
): Promise<{ text: string; bytesLeft: number } | undefined> {
  const start = stored === null ? undefined : await startOf(join(folder, stored), maxText)
  if (start === undefined) return undefined
  // A character that is cut at the end stays in the decoder.
  const text = new TextDecoder().decode(start.bytes, { stream: true })
  const bytesLeft = Math.max(0, start.size - start.bytes.length)
  return { text: media_type.includes('json') && bytesLeft === 0 ? indented(text) : text, bytesLeft }
}

function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2)
  } catch {
    return json
  }
}
