import { readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Context } from '../../context.ts'
import type { ImageFailure, ImageLink, SavedImage } from '../../events/image.ts'
import type { SavedFile } from '../../events/text.ts'
import { rescueFolder } from '../../config/paths.ts'
import { maxImages, maxPartialImages } from '../../contract/images.ts'
import { type FileError, ModelgateError } from '../../errors.ts'
import { imageKind, type ImageFacts } from '../../files/image-inspector.ts'
import { openMediaFile, unverifiedNote, type MediaFile, type SavedMedia } from '../../files/media-file.ts'
import { streamMedia } from '../../files/stream-media.ts'
import type { DownloadSink } from '../../gateway/download/transfer.ts'
import type { ImageReceiver, ImageWriter } from '../../gateway/images/image-receiver.ts'
import type { Output } from '../../output/output.ts'
import type { Preview } from '../../output/preview/drawing.ts'
import type { ImageOptions } from './image-options.ts'
import type { ImageRequest } from './image-request.ts'

/** A result that the gateway gives by its address. */
export interface FoundLink {
  /** Number of the image, from 1. */
  readonly index: number
  readonly url: string
}

/** The images of one request: where each goes, and what has become of it. */
export interface ImageResults extends ImageReceiver {
  readonly files: ReadonlyMap<number, Omit<SavedImage, 'revised_prompt'>>
  /** The numbers of the images that went to where they belong, standard output among these places. */
  readonly saved: ReadonlySet<number>
  readonly partials: readonly SavedFile[]
  readonly found: readonly FoundLink[]
  readonly links: ImageLink[]
  readonly failures: ImageFailure[]
  /** Why images are in the rescue folder instead of where they belong; each is a failure, too. */
  readonly rescued: readonly FileError[]
  /** How many images the reply holds or names, also those that are not kept. */
  readonly total: number
  /**
   * No more are kept: as many as were asked for, or one request can make. More than was asked for may have been paid
   * for; but no gateway is to fill a folder.
   */
  readonly most: number
  /** The number of the image at a position of the reply. */
  numberAt(position: number): number
  /** A writer for an image that is downloaded. */
  openDownload(index: number): DownloadWriter
  /** Whether it is known what became of an image. */
  has(index: number): boolean
  fail(index: number, error: ModelgateError): void
}

/** A writer that can look at what has come, so that a download can be tried again. */
interface DownloadWriter extends Omit<ImageWriter, 'done'>, DownloadSink {
  /** @param isFramed whether the transport told where the content ends */
  done(isFramed?: boolean): Promise<void>
}

interface ImageResultsParts {
  readonly context: Context
  readonly options: ImageOptions
  readonly request: ImageRequest
  readonly output: Output
  readonly preview: Preview | undefined
  /** Id of the request, for names; empty until it is known. */
  readonly id: () => string
  readonly warn: (message: string) => void
}

/** Makes an album. Nothing is under its final name before it has come whole and has been looked at. */
export function createImageResults({
  context,
  options,
  request,
  output,
  preview,
  id,
  warn,
}: ImageResultsParts): ImageResults {
  const files = new Map<number, Omit<SavedImage, 'revised_prompt'>>()
  const saved = new Set<number>()
  const links: ImageLink[] = []
  const failures: ImageFailure[] = []
  const partials: SavedFile[] = []
  const found: FoundLink[] = []
  const rescued: FileError[] = []
  const { plan, wanted } = request
  const force = options.force === true
  const most = Math.max(wanted.length, maxImages)
  let total = 0
  let previews = 0

  /** Two images on standard output would be none; and a reply of any number of them is not to fill the folder. */
  const isLeftOut = (position: number) => {
    total = Math.max(total, position + 1)
    if (position >= most) return true
    const index = numberAt(position)
    if (!plan.toStandardOutput || index === wanted[0]) return false
    warn(`Image ${index} was not asked for, and is not written: -o - takes one.`)
    return true
  }
  const numberAt = (position: number) =>
    wanted[position] ?? Math.max(...wanted) + position - wanted.length + 1
  const pathFor = (index: number) => (extension: string) => plan.pathFor({ index, extension, id: id() })

  const show = async (path: string, mediaType: string, caption?: string) => {
    if (preview === undefined) return
    const bytes = await readShown(resolve(context.cwd, path))
    if (bytes === undefined) return
    await preview.show({ bytes, mediaType, ...(caption === undefined ? {} : { caption }) })
  }
  // On one terminal the result, which is the path, stands below its picture as it is; below the last of several.
  const captionOf = (path: string, index: number) => {
    if (!context.stdout.isTerminal) return path
    return wanted.length > 1 ? `image ${index}` : undefined
  }

  const keepRescued = (index: number, reason: FileError) => {
    rescued.push(reason)
    album.fail(index, reason)
  }

  const openFile = (index: number): DownloadWriter =>
    asWriter(
      openMediaFile(context, imageKind, {
        pathFor: pathFor(index),
        force,
        rescueFolder: rescueFolder(context),
        renamed(planned, saved) {
          // A name that nobody asked for may as well be another.
          if (!plan.isAutomatic) warn(`${planned} was taken meanwhile; the image is in ${saved}.`)
        },
      }),
      async ({ rescued: reason, ...image }) => {
        if (!image.verified) warn(unverifiedNote('image', image.path))
        if (reason !== undefined) return keepRescued(index, reason)
        files.set(index, image)
        saved.add(index)
        await show(image.path, image.mime_type, captionOf(image.path, index))
      },
    )

  /** `-o -`: there is no path to tell. */
  const openStandardOutput = (index: number): DownloadWriter =>
    asWriter(
      streamMedia(context, imageKind, { rescueFolder: rescueFolder(context) }),
      async ({ verified, path, rescued: reason }) => {
        if (!verified) warn(unverifiedNote('image', reason === undefined ? 'what was written' : path))
        if (reason === undefined) saved.add(index)
        else keepRescued(index, reason)
      },
    )

  /** A writer for a whole image. */
  const openImage = (index: number): DownloadWriter =>
    plan.toStandardOutput ? openStandardOutput(index) : openFile(index)

  /** A preview that is kept beside the image, as NAME-partial-0. */
  const openPartial = (index: number, partial: number): ImageWriter => {
    const file = openMediaFile(context, imageKind, {
      pathFor: (extension) => plan.pathFor({ index, extension, id: id(), partial }),
      force,
    })
    const writer = asWriter(file, async ({ path, bytes, sha256, mime_type }) => {
      const saved = { path, bytes, sha256, mime_type }
      partials.push(saved)
      output.event({ type: 'image-partial', index, partial, file: saved })
      await show(path, mime_type, `preview ${partial}`)
    })
    const checked: ImageWriter = {
      ...writer,
      async done() {
        const { damage } = file.integrity()
        if (damage === undefined) return writer.done()
        await file.drop()
        warn(`Preview ${partial} is not kept: ${damage}.`)
      },
    }
    return bestEffort(checked, ({ message }) => warn(`Preview ${partial} is not kept: ${message}`))
  }

  /** A preview that is only shown. */
  const showPartial = (index: number, partial: number): ImageWriter => {
    const chunks: Uint8Array[] = []
    return {
      write: async (bytes) => void (preview === undefined || chunks.push(Buffer.from(bytes))),
      async done() {
        output.event({ type: 'image-partial', index, partial, file: null })
        const bytes = Buffer.concat(chunks)
        await preview?.show({ bytes, mediaType: '', caption: `preview ${partial}` })
      },
      keepDamaged: async () => undefined,
      drop: async () => {},
    }
  }

  const album: ImageResults = {
    count: wanted.length,
    files,
    saved,
    partials,
    found,
    links,
    failures,
    rescued,
    most,
    get total() {
      return total
    },
    numberAt,
    has: (index) => saved.has(index) || [...links, ...failures].some((known) => known.index === index),
    openDownload: openImage,
    async open({ index: position, partial }) {
      const index = numberAt(position)
      if (partial === null) return isLeftOut(position) ? nowhere : openImage(index)
      const isKept = options.savePartials && ++previews <= most * maxPartialImages
      return isKept ? openPartial(index, partial) : showPartial(index, partial)
    },
    async flush() {
      // With -o - nothing but the image is on standard output, whose writer waits for it.
      if (!plan.toStandardOutput) await output.flush()
    },
    url({ index: position, url }) {
      if (!isLeftOut(position)) found.push({ index: numberAt(position), url })
    },
    failed: ({ index, error }) => album.fail(numberAt(index), error),
    fail(index, { code, message, facts }) {
      // More than was asked for is not missed.
      if (!wanted.includes(index)) return warn(message)
      const failure = { index, code, message, rescued: facts.rescued?.[0] ?? null }
      failures.push(failure)
      // Of the only one the command's own error tells.
      if (wanted.length > 1 || failure.rescued === null) output.event({ type: 'image-fail', failure })
    },
  }
  return album
}

/** What is no file cannot be read again, and what somebody has taken away is nothing to stop for. */
async function readShown(path: string): Promise<Uint8Array | undefined> {
  try {
    return (await stat(path)).isFile() ? await readFile(path) : undefined
  } catch {
    return undefined
  }
}

/** Takes what nobody has a place for. */
const nowhere: ImageWriter = {
  write: async () => {},
  done: async () => {},
  keepDamaged: async () => undefined,
  drop: async () => {},
}

function asWriter(
  { restart, done, ...file }: MediaFile<ImageFacts>,
  saved: (image: SavedMedia<ImageFacts>) => Promise<void>,
): DownloadWriter {
  return {
    ...file,
    ...(restart === undefined ? {} : { restart }),
    done: async (isFramed) => saved(await done(isFramed)),
  }
}

/**
 * A writer for what is worth less than what comes after it: a preview that the disk does not take keeps no image from
 * coming. What the image itself has wrong is still told.
 * @param failed is told, once, why nothing is written
 */
function bestEffort(writer: ImageWriter, failed: (error: ModelgateError) => void): ImageWriter {
  let isGivenUp = false
  const attempt = async (step: () => Promise<void>) => {
    if (isGivenUp) return
    try {
      await step()
    } catch (error) {
      const isLocal = error instanceof ModelgateError && (error.exit === 'io' || error.exit === 'usage')
      if (!isLocal) throw error
      isGivenUp = true
      await writer.drop()
      failed(error)
    }
  }
  return {
    write: (bytes) => attempt(() => writer.write(bytes)),
    done: () => attempt(() => writer.done()),
    async keepDamaged() {
      await writer.drop()
      return undefined
    },
    drop: () => writer.drop(),
  }
}
