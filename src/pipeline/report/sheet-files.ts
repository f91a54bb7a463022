import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import type { ReportFile } from '../../events/asset-report.ts'
import { decodeImage, encodeWebp, scalePicture } from '../../files/codecs.ts'
import { tryJson } from '../../json.ts'
import { readStateFile } from '../project.ts'

/** Where a contact sheet finds files, and where it will lie itself. Absolute paths. */
export interface SheetPlace {
  readonly folder: string
  /** The folder of the sheet: links to files are relative to it. */
  readonly sheetFolder: string
  /** Whole pictures and videos are put into the sheet, instead of links to them. */
  readonly embeds: boolean
}

/** What a sheet has of a file. Pictures and videos are data URLs. */
export interface ShownFile {
  readonly file: ReportFile
  /** The address of the file from the sheet; undefined if its bytes are gone. */
  readonly link: string | undefined
  readonly element: 'img' | 'video' | undefined
  /** Undefined for what cannot be decoded, or cannot be made small enough. */
  readonly thumbnail: string | undefined
  /** The whole file, where they are embedded. */
  readonly whole: string | undefined
  /** The beginning of a text, JSON indented, and how many bytes are left. */
  readonly text: { readonly start: string; readonly bytesLeft: number } | undefined
}

/** The element that browsers show a file in. */
function elementOf({ media_type }: ReportFile): 'img' | 'video' | undefined {
  if (/^image\/(?:png|jpeg|webp|gif|avif|svg\+xml)$/.test(media_type)) return 'img'
  return /^video\/(?:mp4|webm|quicktime)$/.test(media_type) ? 'video' : undefined
}

/** In bytes, of all thumbnails of one asset: 100 assets stay under 6 MB with base64 and their texts. */
const maxAssetBytes = 40_000

/**
 * Reads what a sheet shows of the files of one asset. What cannot be read, or is too large, is only linked.
 * @param isText whether the asset is a text
 */
export async function showFiles(place: SheetPlace, files: readonly ReportFile[], isText: boolean) {
  const { folder, sheetFolder, embeds } = place
  // The first is also what the tile shows while it is closed.
  const room = maxAssetBytes / (1 + files.filter((file) => elementOf(file) === 'img').length)
  const thumbnails = new Map<string, string | undefined>()
  const shown = new Map<ReportFile, ShownFile>()
  for (const file of files) {
    const { sha256, stored, media_type } = file
    const element = elementOf(file)
    const path = stored === null ? undefined : join(folder, stored)
    if (path !== undefined && element === 'img' && !thumbnails.has(sha256))
      thumbnails.set(sha256, await thumbnail(path, file, room).catch(() => undefined))
    shown.set(file, {
      file,
      // With a dot in front nothing in the name can be taken for a scheme.
      link: path && `./${relative(sheetFolder, path).split(sep).map(encodeURIComponent).join('/')}`,
      element,
      thumbnail: thumbnails.get(sha256),
      whole: path && element && embeds ? await embedded(path, media_type).catch(() => undefined) : undefined,
      text: path && isText && element === undefined ? await textStart(path, file) : undefined,
    })
  }
  return shown
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

/** @param maxBytes of the file in it; base64 adds a third @throws for what cannot be decoded */
async function thumbnail(path: string, { media_type, width, height }: ReportFile, maxBytes: number) {
  if ((width ?? 0) * (height ?? 0) > maxPixels) return undefined
  const bytes = await readStateFile(path)
  if (bytes === undefined) return undefined
  if (bytes.length <= Math.min(maxUnchanged, maxBytes)) return dataUrl(media_type, bytes)
  const pixels = await decodeImage(bytes, media_type)
  for (const [side, quality] of steps) {
    const scale = Math.min(1, side / Math.max(pixels.width, pixels.height))
    const scaled = scalePicture(pixels, pixels.width * scale, pixels.height * scale)
    const small = await encodeWebp(scaled, quality)
    if (small.length <= maxBytes) return dataUrl('image/webp', small)
  }
  return undefined
}

/** @throws for what cannot be read, or is larger than a text can be (about 380 MB) */
async function embedded(path: string, mediaType: string): Promise<string | undefined> {
  const bytes = await readStateFile(path)
  return bytes && dataUrl(mediaType, bytes)
}

function dataUrl(mediaType: string, bytes: Uint8Array): string {
  return `data:${mediaType};base64,${Buffer.from(bytes).toString('base64')}`
}

/** The first bytes of a file; undefined for what is no file, or cannot be read. */
export async function startOf(path: string, maxBytes: number): Promise<Buffer | undefined> {
  try {
    // Opening a pipe would wait for its writer.
    if (!(await stat(path)).isFile()) return undefined
    return Buffer.concat(await createReadStream(path, { end: maxBytes - 1 }).toArray())
  } catch {
    return undefined
  }
}

/** In bytes; of longer ones the beginning is shown. */
const maxText = 20_000

async function textStart(path: string, { media_type, bytes }: ReportFile): Promise<ShownFile['text']> {
  const found = await startOf(path, maxText)
  if (found === undefined) return undefined
  // A character that is cut at the end stays in the decoder.
  const start = new TextDecoder().decode(found, { stream: true })
  const bytesLeft = Math.max(0, bytes - found.length)
  const value = media_type.includes('json') && bytesLeft === 0 ? tryJson(start) : undefined
  return { start: value === undefined ? start : JSON.stringify(value, null, 2), bytesLeft }
}
