import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Clock } from '../context.ts'
import { maxImages, urlLifetimeMinutes, maxPartialImages } from '../contract/images.ts'
import { type FileError, ModelgateError } from '../errors.ts'
import type { ImageDocument, ImageFailure, ImageLink, ImageUsage, SavedImage } from '../events/image.ts'
import { outputVersion } from '../events/output-schema.ts'
import type { Mismatch, SavedFile } from '../events/text.ts'
import type { NextCommand } from '../files/next-command.ts'
import { mediaTypeOfName } from '../files/media-type.ts'
import type { ReceivedImage, ImageReceiver, ImageWriter } from '../gateway/images/image-receiver.ts'
import { type ImageReply, discardingWriter } from '../gateway/images/receive-images.ts'
import { readResponseUsage } from '../gateway/responses/transcript.ts'
import { countOf, objectOf, stringOf } from '../json.ts'
import type { ImageRequest, ImagePlan } from './image-request.ts'
import type { MadeImages, RemoteImage } from '../files/jobs/job-record.ts'
import { imageDifferences } from './mismatch.ts'
import type { Call } from './operation.ts'
import { imageKind, type ImageFacts } from '../files/image-info.ts'
import { openMediaFile, unverifiedNote, type MediaFile, type SavedMedia } from '../files/media-file.ts'
import { streamMedia } from '../files/stream-media.ts'
import type { DownloadSink } from '../gateway/download/transfer.ts'
import { absoluteUrl } from '../gateway/download/download.ts'

/** The results of a request so far. Images are numbered from 1, like their files. */
export interface ImageResults {
  readonly clock: Clock
  readonly listener: Call['listener']
  readonly request: ImageRequest
  requestId: string | null
  hasReplied: boolean
  /** How many images or URLs the reply contains, including those that are not kept. */
  total: number
  /** What the reply says about complete images, by position. */
  received: readonly ReceivedImage[]
  /** What the messages of the reply have reported so far: the last one counts. */
  usage: unknown
  reply: ImageReply | undefined
  readonly files: Map<number, Omit<SavedImage, 'revised_prompt' | 'existing'>>
  /** The images written to their targets, including standard output. */
  readonly saved: Set<number>
  readonly partials: SavedFile[]
  readonly remote: RemoteImage[]
  readonly links: ImageLink[]
  readonly failures: ImageFailure[]
  /** Whether an image that failed can still be fetched, and the command that does it. */
  hasUnfetched: boolean
  next: NextCommand | undefined
  /** What has been written to standard output, to be compared with the request. */
  readonly streamed: Map<number, StreamedImage>
  readonly mismatches: Mismatch[]
  /** Why images were saved in the rescue folder; each is also a failure. */
  readonly rescued: FileError[]
  readonly warnings: string[]
  /** The numbers of images that are kept with a warning: not verified, or of another type than their name says. */
  readonly doubts: Set<number>
  /** The numbers of images whose file has been reported. */
  readonly reported: Set<number>
}

export function createImageResults(
  { context, listener }: Pick<Call, 'context' | 'listener'>,
  request: ImageRequest,
): ImageResults {
  return {
    clock: context.clock,
    listener,
    request,
    requestId: null,
    hasReplied: false,
    total: 0,
    received: [],
    usage: null,
    reply: undefined,
    files: new Map(),
    saved: new Set(),
    partials: [],
    remote: [],
    links: [],
    failures: [],
    hasUnfetched: false,
    next: undefined,
    streamed: new Map(),
    mismatches: [],
    rescued: [],
    warnings: [],
    doubts: new Set(),
    reported: new Set(),
  }
}

type StreamedImage = SavedMedia<ImageFacts> & { readonly content: readonly Uint8Array[] }

/** The number of the image at a position of the reply, which may contain more than were requested. */
function numberAt({ wanted }: ImageRequest, position: number): number {
  return wanted[position] ?? Math.max(...wanted) + position - wanted.length + 1
}

/**
 * How many images to keep: as many as were requested, or as one request can produce. Extra images may have been
 * billed, but no gateway may fill a folder.
 */
export function maxKept({ wanted }: ImageRequest): number {
  return Math.max(wanted.length, maxImages)
}

export function startImages({ listener, request }: ImageResults): void {
  const { command, model } = request
  listener.event({ type: 'start', version: outputVersion, command, model })
}

export function warn({ listener, warnings }: ImageResults, message: string): void {
  warnings.push(message)
  listener.event({ type: 'warning-add', message })
}

function doubt(results: ImageResults, index: number, message: string): void {
  results.doubts.add(index)
  warn(results, message)
}

export function failImage(
  results: ImageResults,
  index: number,
  { code, message, facts }: ModelgateError,
): void {
  const { listener, request, failures } = results
  // Extra images are not missing.
  if (!request.wanted.includes(index)) return warn(results, message)
  const failure = { index, code, message, rescued: facts.rescued?.[0] ?? null }
  failures.push(failure)
  // A single image is reported by the error of the operation.
  if (request.wanted.length > 1 || failure.rescued === null) listener.event({ type: 'image-fail', failure })
}

/** Whether the outcome of an image is known. */
export function isSettled({ saved, links, failures }: ImageResults, index: number): boolean {
  return saved.has(index) || [...links, ...failures].some((known) => known.index === index)
}

/** When the addresses of a reply that comes now expire: Unix time in seconds. */
function expiry(clock: Clock): number {
  return Math.floor(clock.now() / 1000) + urlLifetimeMinutes * 60
}

/** The results at addresses, as they go on record. */
export function remoteImages(
  { clock, request, requestId, usage, reply, remote }: ImageResults,
  origin: string,
): MadeImages {
  const model = stringOf(objectOf(reply?.response)['model']) ?? request.model
  return {
    origin,
    expires_at: expiry(clock),
    images: remote,
    model,
    request_id: requestId,
    usage: usage ?? null,
  }
}

/** Adds a result that is not downloaded. */
export function addLink({ clock, links }: ImageResults, { index, url }: RemoteImage): ImageLink {
  const expires_at = expiry(clock)
  const link = { index, url, expires_at }
  links.push(link)
  return link
}

/** The images that this request produced. */
export function madeImages({ files, received, request }: ImageResults): (readonly [number, SavedImage])[] {
  return [...files].map(([index, file]) => {
    const item = received.find((image) => numberAt(request, image.index) === index)
    return [index, { ...file, revised_prompt: item?.revised_prompt ?? null, existing: false }]
  })
}

/** New and existing images, in order. */
function allImages(results: ImageResults): (readonly [number, SavedImage])[] {
  const existing = results.request.existing.map(({ index, file }) => [index, file] as const)
  return [...existing, ...madeImages(results)].sort(([a], [b]) => a - b)
}

/** How many images there are to be, with those that exist already. */
function imageCount({ wanted, existing }: ImageRequest): number {
  return wanted.length + existing.length
}

/**
 * Reports the files that have not been reported yet.
 * @param last number of the last image to report, if more are expected
 */
export function reportFiles(results: ImageResults, last = Infinity): void {
  for (const [index, file] of allImages(results)) {
    if (results.reported.has(index) || index > last) continue
    results.reported.add(index)
    results.listener.event({ type: 'image-save', index, count: imageCount(results.request), file })
    const promised = mediaTypeOfName(file.path)
    // What was asked for is compared in the end.
    if (!file.existing && promised === `image/${String(results.request.body['output_format'])}`) continue
    if (promised !== undefined && promised !== `image/${file.format}`) {
      const named = promised.replace(/^image\//, '')
      const content = file.format === 'bin' ? 'an unknown format' : `a ${file.format} image`
      const message = `${file.path} contains ${content}, although its name says ${named}.`
      if (file.existing) warn(results, message)
      else doubt(results, index, message)
    }
  }
}

/** Holds the images that came against the request. */
export async function compareImages(results: ImageResults, cwd: string): Promise<void> {
  const { files, streamed, request, reply, mismatches } = results
  for (const [index, image] of [...files, ...streamed].sort(([a], [b]) => a - b)) {
    const content = streamed.get(index)?.content
    const read = () =>
      content === undefined
        ? readFile(resolve(cwd, image.path)).catch(() => undefined)
        : Promise.resolve(Buffer.concat(content))
    const echo = objectOf(reply?.response)
    const found = await imageDifferences(request.body, image, echo, read)
    mismatches.push(...found.map((one) => ({ index, ...one })))
  }
}

function readImageUsage(value: unknown): ImageUsage | null {
  const usage = readResponseUsage(value)
  if (usage === null) return null
  const details = objectOf(objectOf(value)['input_tokens_details'])
  return {
    ...usage,
    input_image_tokens: countOf(details['image_tokens']),
    input_text_tokens: countOf(details['text_tokens']),
  }
}

export function imageDocument(results: ImageResults): ImageDocument {
  const { request, requestId, reply, partials, links, failures, mismatches, warnings } = results
  const { command, model } = request
  return {
    version: outputVersion,
    command,
    model,
    files: allImages(results).map(([, file]) => file),
    usage: readImageUsage(results.usage),
    cost: null,
    request_id: requestId,
    response: reply?.response ?? null,
    partials,
    links,
    failures,
    mismatches,
    warnings,
  }
}

/** Shows images as they arrive. */
export interface ImageViewer {
  show(image: ShownImage): Promise<void>
}

export type ShownImage = {
  /** Number of the image, from 1. */
  readonly index: number
  /** Index of the preview, from 0; null for the image itself. */
  readonly partial: number | null
  /** How many images were requested, and how many previews of each. */
  readonly count: number
  readonly partials: number | null
} & ({ readonly path: string } | { readonly bytes: Uint8Array })

/** Writes the images of one reply. */
export interface ImageWriters {
  readonly receiver: ImageReceiver
  /** A writer for an image that is downloaded. */
  openDownload(index: number): DownloadWriter
}

/** A writer that can look at what has come, so that a download can be tried again. */
type DownloadWriter = ImageWriter & DownloadSink

/** An image gets its final name only after it has been received completely and verified. */
export function createImageWriters(
  { context, gateway, listener, redactor, rescueFolder }: Call,
  results: ImageResults,
  { force, savePartials }: ImagePlan,
  viewer: ImageViewer | undefined,
): ImageWriters {
  const { request } = results
  const { outputs, wanted } = request
  const kept = maxKept(request)
  const partials = countOf(request.body['partial_images'])
  const counts = { count: imageCount(request), partials }
  let partialCount = 0

  const pathFor = (index: number, partial?: number) => (extension: string) =>
    outputs.pathFor({ index, extension, id: redactor.text(results.requestId ?? ''), partial })

  const openFile = (index: number) =>
    openMediaFile(context, imageKind, {
      pathFor: pathFor(index),
      force,
      rescueFolder,
      renamed(planned, saved) {
        // A generated name may be replaced without a warning.
        if (!outputs.isAutomatic) warn(results, `${planned} was taken meanwhile; the image is in ${saved}.`)
      },
    })

  /** Opens a writer for a whole image. With `-o -` there is no path to report. */
  const openImage = (index: number): DownloadWriter => {
    const toStream = outputs.toStandardOutput
    const file = toStream ? streamMedia(context, imageKind, { rescueFolder }) : openFile(index)
    const content: Uint8Array[] = []
    const write = async (bytes: Uint8Array) => {
      if (toStream && request.body['background'] !== undefined) content.push(Buffer.from(bytes))
      await file.write(bytes)
    }
    const restart = async () => {
      content.length = 0
      await file.restart()
    }
    return asWriter({ ...file, write, restart }, async ({ rescued, ...image }) => {
      const isStreamed = toStream && rescued === undefined
      if (!image.verified)
        doubt(results, index, unverifiedNote('image', isStreamed ? 'what was written' : image.path))
      if (rescued !== undefined) {
        results.rescued.push(rescued)
        return failImage(results, index, rescued)
      }
      results.saved.add(index)
      if (isStreamed) return void results.streamed.set(index, { ...image, content })
      results.files.set(index, image)
      await viewer?.show({ index, partial: null, ...counts, path: image.path })
    })
  }

  /** Saves a preview beside the image, as NAME-partial-1. */
  const openPartial = (index: number, partial: number): ImageWriter => {
    const file = openMediaFile(context, imageKind, { pathFor: pathFor(index, partial), force })
    const writer = asWriter(file, async ({ path, bytes, sha256, mime_type }) => {
      const saved = { path, bytes, sha256, mime_type }
      results.partials.push(saved)
      listener.event({ type: 'image-partial', index, partial, ...counts, file: saved })
      await viewer?.show({ index, partial, ...counts, path })
    })
    const checked: ImageWriter = {
      ...writer,
      async commit() {
        const { damage } = file.integrity()
        if (damage === undefined) return writer.commit()
        await file.discard()
        warn(results, `Preview ${partial + 1} is not kept: ${damage}.`)
      },
    }
    return bestEffort(checked, ({ message }) =>
      warn(results, `Preview ${partial + 1} is not kept: ${message}`),
    )
  }

  /** Shows a preview without saving it. */
  const showPartial = (index: number, partial: number): ImageWriter => {
    const chunks: Uint8Array[] = []
    return {
      ...discardingWriter,
      write: async (bytes) => void (viewer === undefined || chunks.push(Buffer.from(bytes))),
      async commit() {
        listener.event({ type: 'image-partial', index, partial, ...counts, file: null })
        await viewer?.show({ index, partial, ...counts, bytes: Buffer.concat(chunks) })
      },
    }
  }

  /** Several images on standard output would be unusable, and a reply must not fill the folder. */
  const isLeftOut = (position: number) => {
    results.total = Math.max(results.total, position + 1)
    if (position >= kept) return true
    const index = numberAt(request, position)
    if (!outputs.toStandardOutput || index === wanted[0]) return false
    warn(results, `Image ${index} was not requested and is not written: -o - takes one image.`)
    return true
  }

  const receiver: ImageReceiver = {
    count: wanted.length,
    replied(id) {
      results.hasReplied = true
      results.requestId = id
    },
    async open({ index: position, partial }) {
      const index = numberAt(request, position)
      if (partial === null) return isLeftOut(position) ? discardingWriter : openImage(index)
      const isKept = savePartials && ++partialCount <= kept * maxPartialImages
      return isKept ? openPartial(index, partial) : showPartial(index, partial)
    },
    async flush() {
      // With -o - the writer of the image already waits for standard output.
      if (!outputs.toStandardOutput) await listener.flush()
    },
    async received(image) {
      results.received = [...results.received, image]
      const number = numberAt(request, image.index)
      // Wait until earlier images, which may still be downloading, have been reported.
      if (results.remote.every(({ index }) => index > number)) reportFiles(results, number)
    },
    url({ index: position, url }) {
      if (isLeftOut(position)) return
      results.remote.push({ index: numberAt(request, position), url: absoluteUrl(url, gateway) })
    },
    usage(usage) {
      results.usage = usage
    },
    failed: ({ index, error }) => failImage(results, numberAt(request, index), error),
  }
  return { receiver, openDownload: openImage }
}

function asWriter(
  { commit, ...file }: MediaFile<ImageFacts>,
  saved: (image: SavedMedia<ImageFacts>) => Promise<void>,
): DownloadWriter {
  return {
    ...file,
    commit: async (isFramed) => saved(await commit(isFramed)),
  }
}

/**
 * A writer for what is worth less than what comes after it: a preview that the disk does not take keeps no image from
 * coming. What the image itself has wrong is still reported.
 * @param failed called once, with the reason why nothing is written
 */
function bestEffort(writer: ImageWriter, failed: (error: ModelgateError) => void): ImageWriter {
  let hasFailed = false
  const attempt = async (step: () => Promise<void>) => {
    if (hasFailed) return
    try {
      await step()
    } catch (error) {
      const isLocal = error instanceof ModelgateError && (error.exit === 'io' || error.exit === 'usage')
      if (!isLocal) throw error
      hasFailed = true
      await writer.discard()
      failed(error)
    }
  }
  return {
    write: (bytes) => attempt(() => writer.write(bytes)),
    commit: () => attempt(() => writer.commit()),
    async commitDamaged() {
      await writer.discard()
      return undefined
    },
    discard: () => writer.discard(),
  }
}
