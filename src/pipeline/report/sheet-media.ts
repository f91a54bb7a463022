import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import type { AssetReport, ReportFile } from '../../events/asset-report.ts'

/** Where a contact sheet finds files, and where it will lie itself. Absolute paths. */
export interface SheetPlace {
  /** The manifest's folder. */
  readonly folder: string
  /** The folder of the sheet: links to files are relative to it. */
  readonly sheetFolder: string
  /** How many bytes of pictures and videos are put into the sheet, at most. */
  readonly maxEmbeddedBytes?: number
}

/** A picture or a video in the sheet. */
export interface EmbeddedFile {
  /** Of its element in the sheet. */
  readonly id: string
  readonly mediaType: string
  /** Absolute. */
  readonly path: string
}

export interface SheetMedia {
  /** In the order in which they are shown. */
  readonly embedded: readonly EmbeddedFile[]
  /** How many pictures and videos had no place. */
  readonly leftOut: number
  embeddedAs(file: ReportFile): EmbeddedFile | undefined
  /** An address of the file from the sheet; undefined if its bytes are gone. */
  linkTo(file: ReportFile): string | undefined
  /** The text of a file; undefined if it cannot be read. */
  readText(file: ReportFile): Promise<ShownText | undefined>
}

export interface ShownText {
  readonly text: string
  /** Bytes that are not shown. */
  readonly bytesLeft: number
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
export function shownAs(mediaType: string): 'img' | 'video' | undefined {
  return shownTypes.get(mediaType)
}

/** Browsers take files of some hundred megabytes; base64 adds a third. */
const usualMaxBytes = 150_000_000

/** Longer texts are shown by their beginning. */
const maxTextBytes = 20_000

/** Decides which files become a part of the sheet: in the order of the report, as long as there is room. */
export async function planMedia(report: AssetReport, place: SheetPlace): Promise<SheetMedia> {
  const embedded = new Map<string, EmbeddedFile>()
  let room = place.maxEmbeddedBytes ?? usualMaxBytes
  let leftOut = 0
  for (const file of shownFiles(report)) {
    if (shownAs(file.media_type) === undefined || file.stored === null || embedded.has(file.sha256)) continue
    const path = join(place.folder, file.stored)
    const size = await sizeOfFile(path)
    if (size === undefined) continue
    if (size > room) {
      leftOut++
      continue
    }
    room -= size
    embedded.set(file.sha256, { id: `m${embedded.size + 1}`, mediaType: file.media_type, path })
  }
  return {
    embedded: [...embedded.values()],
    leftOut,
    embeddedAs: (file) => embedded.get(file.sha256),
    linkTo: (file) => (file.stored === null ? undefined : relativeAddress(place, file.stored)),
    readText: (file) => (file.stored === null ? gone : readStart(join(place.folder, file.stored))),
  }
}

const gone = Promise.resolve(undefined)

/** What there is now of all assets comes before what was there. */
function* shownFiles({ assets }: AssetReport): Iterable<ReportFile> {
  for (const { files, candidates } of assets) {
    yield* files
    for (const candidate of candidates) yield* candidate.files
  }
  for (const { before } of assets) yield* before
}

function relativeAddress({ folder, sheetFolder }: SheetPlace, stored: string): string {
  const path = relative(sheetFolder, join(folder, stored)).split(sep)
  // With a dot in front nothing in the name can be taken for a scheme.
  return `./${path.map(encodeURIComponent).join('/')}`
}

async function readStart(path: string): Promise<ShownText | undefined> {
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
  return { text, bytesLeft: Math.max(0, size - bytes.length) }
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
