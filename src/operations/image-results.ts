import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Clock } from '../context.ts'
import { maxImages, urlLifetimeMinutes, maxPartialImages } from '../contract/images.ts'
import { FileError, ModelgateError } from '../errors.ts'
import type { ImageDocument, ImageUsage, SavedImage } from '../events/image.ts'
import type { NextCommand } from '../files/next-command.ts'
import { mediaTypeOfName } from '../files/media-type.ts'
import { discarding, type ImageReceiver, type ImageWriter } from '../gateway/images/image-reply.ts'
import { readResponseUsage } from '../gateway/responses/transcript.ts'
import { countOf, objectOf, stringOf } from '../json.ts'
import type { ImageRequest, ImagePlan } from './image-request.ts'
import type { MadeImages, RemoteImage } from '../files/calls/job-record.ts'
import { MediaResults } from './media-results.ts'
import { imageDifferences } from './mismatch.ts'
import type { Call } from './operation.ts'
import { imageKind } from '../files/image-info.ts'
import { openMediaFile, unverifiedNote } from '../files/media-file.ts'
import { streamMedia } from '../files/stream-media.ts'
import { absoluteUrl, type DownloadSink } from '../gateway/download/download.ts'

/** With `content`, a copy of its bytes, it was written to standard output. */
type StoredImage = SavedImage & { readonly content?: readonly Uint8Array[] }

/** The results of a request so far. */
export class ImageResults extends MediaResults<ImageDocument> {
  protected readonly noun = 'image'
  readonly request: ImageRequest
  readonly #clock: Clock
  readonly #files: SavedImage[] = []
  readonly #partials: ImageDocument['partials'][number][] = []
  readonly links: ImageDocument['links'][number][] = []
  /** Also of images that were not asked for. */
  readonly errors: ModelgateError[] = []
  requestId: string | null | undefined
  total = 0
  /** The images of the reply, with their prompts as the gateway changed them. */
  readonly received = new Map<number, string | null>()
  usage: unknown = null
  response: unknown = null
  readonly saved = new Map<number, StoredImage>()
  readonly remote: RemoteImage[] = []
  /** The command that fetches what is left. */
  next: NextCommand | undefined
  readonly doubts = new Set<number>()
  /** New and existing. */
  readonly unreported: Map<number, SavedImage>
  readonly count: number
  /** As many as were requested, or as one request can produce: no gateway may fill a folder. */
  readonly maxKept: number

  constructor(
    { context, listener }: Pick<Call, 'context' | 'listener'>,
    request: ImageRequest,
    command: ImageDocument['command'] = request.command,
  ) {
    super(listener, command, request.model)
    this.request = request
    this.#clock = context.clock
    this.unreported = new Map(request.existing.map(({ index, file }) => [index, file]))
    this.count = request.wanted.length + request.existing.length
    this.maxKept = Math.max(request.wanted.length, maxImages)
  }

  document(): ImageDocument {
    return {
      ...this.head,
      files: this.#files,
      usage: readImageUsage(this.usage),
      cost: null,
      request_id: this.requestId ?? null,
      response: this.response,
      partials: this.#partials,
      links: this.links,
      failures: this.failures,
      mismatches: this.mismatches,
      warnings: this.warnings,
    }
  }

  numberAt(position: number): number {
    const { wanted } = this.request
    return wanted[position] ?? Math.max(...wanted) + position - wanted.length + 1
  }

  doubt(index: number, message: string): void {
    this.doubts.add(index)
    this.warn(message)
  }

  fail(index: number, error: ModelgateError): void {
    const { wanted } = this.request
    this.errors.push(error)
    // Extra images are not missing.
    if (!wanted.includes(index)) return this.warn(error.message)
    const failure = this.addFailure(index, error)
    // A single image is reported by the error of the operation.
    if (wanted.length > 1 || failure.rescued === null) this.listener.event({ type: 'image-fail', failure })
  }

  missing(): number[] {
    const known = [...this.links, ...this.failures].map(({ index }) => index)
    const settled = new Set([...this.saved.keys(), ...this.received.keys(), ...known])
    return this.request.wanted.filter((index) => !settled.has(index))
  }

  #expiry(): number {
    return Math.floor(this.#clock.now() / 1000) + urlLifetimeMinutes * 60
  }

  made(origin: string): MadeImages {
    return {
      origin,
      expires_at: this.#expiry(),
      images: this.remote,
      model: stringOf(objectOf(this.response)['model']) ?? this.request.model,
      request_id: this.requestId ?? null,
      usage: this.usage ?? null,
    }
  }

  /** Adds a result that is not downloaded. @param isShown false for one whose failure says it */
  addLink({ index, url }: RemoteImage, isShown: boolean): void {
    const link = { index, url, expires_at: this.#expiry() }
    this.links.push(link)
    if (isShown) this.listener.event({ type: 'image-link', link })
  }

  addPreview(index: number, partial: number, file: ImageDocument['partials'][number] | null): void {
    if (file !== null) this.#partials.push(file)
    const partials = countOf(this.request.body['partial_images'])
    this.listener.event({ type: 'image-partial', index, partial, partials, count: this.count, file })
  }

  /** Reports the files that have not been reported yet. @param last number of the last one, if more are expected */
  reportFiles(last = Infinity): void {
    const { request, unreported } = this
    for (const [index, stored] of [...unreported].sort(([a], [b]) => a - b)) {
      if (index > last) break
      unreported.delete(index)
      const file = { ...stored, revised_prompt: this.received.get(index) ?? null }
      this.#files.push(file)
      this.listener.event({ type: 'image-save', index, count: this.count, file })
      const promised = mediaTypeOfName(file.path)
      // What was asked for is compared in the end.
      if (!file.existing && promised === `image/${String(request.body['output_format'])}`) continue
      if (promised !== undefined && promised !== `image/${file.format}`) {
        const named = promised.replace(/^image\//, '')
        const content = file.format === 'bin' ? 'an unknown format' : `a ${file.format} image`
        const message = `${file.path} contains ${content}, although its name says ${named}.`
        if (file.existing) this.warn(message)
        else this.doubt(index, message)
      }
    }
  }

  async compare(cwd: string): Promise<void> {
    for (const [index, image] of [...this.saved].sort(([a], [b]) => a - b)) {
      const { content, path } = image
      const read = async () =>
        content === undefined ? readFile(resolve(cwd, path)).catch(() => undefined) : Buffer.concat(content)
      const found = await imageDifferences(this.request.body, image, objectOf(this.response), read)
      this.addDifferences(index, found)
    }
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

export type ImageViewer = (image: ShownImage) => Promise<void>

/** An image that was saved, or the bytes of a preview. */
type ShownImage = Uint8Array | { readonly index: number; readonly count: number; readonly path: string }

export type ImageWriters = ReturnType<typeof createImageWriters>

/** A writer that can look at what has arrived, so that a download can be tried again. */
type DownloadWriter = ImageWriter & DownloadSink

/** Writes the images of one reply. */
export function createImageWriters(
  { context, gateway, listener, redactor, rescueFolder }: Call,
  results: ImageResults,
  { force = false, savePartials, relay }: ImagePlan,
  viewer: ImageViewer | undefined,
) {
  const { request, count, maxKept } = results
  const { outputs, wanted } = request
  const toStream = outputs.toStandardOutput
  let partialCount = 0

  const pathFor = (index: number, partial?: number) => (extension: string) =>
    outputs.pathFor({ index, extension, id: redactor.text(results.requestId ?? ''), partial })

  const renamed = (planned: string, saved: string) => {
    // A generated name may be replaced without a warning.
    if (!outputs.isAutomatic) results.warn(`${planned} was taken meanwhile; the image is in ${saved}.`)
  }

  const openImage = (index: number): DownloadWriter => {
    const file = toStream
      ? streamMedia(context, imageKind, { rescueFolder })
      : openMediaFile(context, imageKind, { pathFor: pathFor(index), force, rescueFolder, renamed })
    const content: Uint8Array[] = []
    return {
      ...file,
      async write(bytes) {
        if (toStream && request.body['background'] !== undefined) content.push(Buffer.from(bytes))
        await file.write(bytes)
      },
      async restart() {
        content.length = 0
        await file.restart()
      },
      async commit(isFramed) {
        const { rescued, ...saved } = await file.commit(isFramed)
        const image = { ...saved, revised_prompt: null, existing: false }
        if (!image.verified) results.doubt(index, unverifiedNote('image', image.path))
        if (rescued !== undefined) return results.fail(index, rescued)
        results.saved.set(index, toStream ? { ...image, content } : image)
        if (toStream) return
        results.unreported.set(index, image)
        await viewer?.({ index, count, path: image.path })
      },
    }
  }

  const savePreview = async (index: number, partial: number, bytes: Uint8Array) => {
    const file = openMediaFile(context, imageKind, { pathFor: pathFor(index, partial), force })
    try {
      await file.write(bytes)
      const { damage } = file.integrity()
      if (damage !== undefined) throw new FileError('damaged_media', `${damage}.`)
      const { path, bytes: size, sha256, mime_type } = await file.commit()
      return { path, bytes: size, sha256, mime_type }
    } catch (error) {
      await file.discard()
      // One that the disk does not take keeps no image from coming; what is no image is an error all the same.
      const isLocal = error instanceof ModelgateError && (error.exit === 'io' || error.exit === 'usage')
      if (!isLocal) throw error
      results.warn(`Preview ${partial + 1} is not kept: ${error.message}`)
      return undefined
    }
  }

  const openPreview = (index: number, partial: number): ImageWriter => {
    const isKept = savePartials === true && ++partialCount <= maxKept * maxPartialImages
    const chunks: Uint8Array[] = []
    return {
      ...discarding,
      async write(bytes) {
        if (isKept || viewer !== undefined) chunks.push(Buffer.from(bytes))
      },
      async commit() {
        const bytes = Buffer.concat(chunks)
        const file = isKept ? await savePreview(index, partial, bytes) : null
        if (file === undefined) return
        results.addPreview(index, partial, file)
        await viewer?.(bytes)
      },
    }
  }

  /** Several images on standard output would be unusable, and a reply must not fill the folder. */
  const isLeftOut = (position: number) => {
    results.total = Math.max(results.total, position + 1)
    if (position >= maxKept) return true
    const index = results.numberAt(position)
    if (!toStream || index === wanted[0]) return false
    results.warn(`Image ${index} was not requested and is not written: -o - takes one image.`)
    return true
  }

  const receiver: ImageReceiver = {
    count: wanted.length,
    ...(relay !== undefined && { pass: (chunk) => relay.write(chunk) }),
    replied: (id) => void (results.requestId = id),
    usage: (usage) => void (results.usage = usage),
    async open({ index: position, partial }) {
      if (relay !== undefined) return discarding
      const index = results.numberAt(position)
      if (partial !== null) return openPreview(index, partial)
      return isLeftOut(position) ? discarding : openImage(index)
    },
    async flush() {
      // With -o - and --raw what writes the bytes already waits for standard output.
      if (!toStream && relay === undefined) await listener.flush()
    },
    async received({ index: position, revised_prompt: prompt }) {
      const number = results.numberAt(position)
      results.received.set(number, prompt)
      // Wait until earlier images, which may still be downloading, have been reported.
      if (results.remote.every(({ index }) => index > number)) results.reportFiles(number)
    },
    url({ index: position, url }) {
      if (isLeftOut(position)) return
      results.remote.push({ index: results.numberAt(position), url: absoluteUrl(url, gateway) })
    },
    failed: ({ index, error }) => results.fail(results.numberAt(index), error),
  }
  return { receiver, openImage }
}
