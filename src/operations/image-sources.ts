import { createHash } from 'node:crypto'
import { basename, resolve } from 'node:path'
import type { FileContext } from '../context.ts'
import { familyCalled } from '../contract/families.ts'
import { subjectOf } from '../contract/field.ts'
import { maskLimits } from '../contract/images.ts'
import type { Model } from '../contract/known-models.ts'
import { ModelgateError, UsageError } from '../errors.ts'
import { hasTransparentPixel } from '../files/codecs.ts'
import { openContainer } from '../files/containers.ts'
import { imageInfoHeadBytes, imageInfoOf, readImageInfo, type ImageInfo } from '../files/image-info.ts'
import { extensionOf, sniffMediaType } from '../files/media-type.ts'
import { describeInputFile } from '../files/input-file.ts'
import { download } from '../gateway/download/download.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { fileChunks } from '../gateway/multipart.ts'

export interface SourceInput {
  readonly field: 'image' | 'mask'
  /** Its name in messages: `--image`. */
  readonly name: string
}

/** A picture to upload, identified by its first bytes. */
export interface ImageSource extends SourceInput {
  /** As given: a path, a URL, or `-`. */
  readonly label: string
  readonly fileName: string
  readonly bytes: number
  readonly mediaType: string
  /** It is a URL that a dry run does not fetch: nothing else is known of it. */
  readonly isAddress?: true
  /** Undefined if it is not a known image format. */
  readonly info: ImageInfo | undefined
  open(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>
  digest(): Promise<string>
}

/** More than any family accepts: larger input is rejected without being read. */
const maxSourceBytes = 1024 * 1024 * 1024
/** A picture from a URL is kept in memory until it is sent; no family accepts a larger one. */
const maxFetchedBytes = familyCalled('image-model-a').sources!.below_bytes
const maxShownUrl = 200
const maxShownLabel = 100

export function isUrl(location: string): boolean {
  return /^(?:https?|data):/i.test(location)
}

export async function readImageFile(context: FileContext, input: SourceInput, path: string) {
  const file = await describeInputFile(context, path, {
    maxBytes: maxSourceBytes,
    headBytes: imageInfoHeadBytes,
  })
  if (file instanceof ModelgateError) throw file.amend({ message: `${input.name}: ${file.message}` })
  const { content } = file
  if (content !== undefined) return imageFromBytes(input, path, basename(path), content)
  const location = resolve(context.cwd, path)
  const found = source(input, path, basename(path), file.bytes, file.head, () => fileChunks(location))
  return { ...found, info: found.info ?? (await infoBeyondHead(found)) }
}

/** Fetches a picture under the same rules as result URLs: no key to another origin, no private address. */
export async function fetchImage(gateway: Gateway, input: SourceInput, url: string, allowPrivate: boolean) {
  const label = urlLabel(url)
  const chunks: Uint8Array[] = []
  const write = async (bytes: Uint8Array) => void chunks.push(Buffer.from(bytes))
  const restart = async () => void chunks.splice(0)
  await download(gateway, url, { write, restart }, { maxBytes: maxFetchedBytes, allowPrivate }).catch(
    (error: unknown) => {
      if (!(error instanceof ModelgateError) || gateway.signal.aborted) throw error
      const exit = error.exit === 'contract' || error.exit === 'rejected' ? 'usage' : error.exit
      const message = `${nameOf({ ...input, label })}: ${error.message}`
      // The hints are about requests to the gateway, so they are dropped.
      throw error.amend({ exit, message, phase: 'input', hint: null })
    },
  )
  return imageFromBytes(input, label, 'image', Buffer.concat(chunks))
}

/** A picture at a URL that stands for itself: a dry run fetches nothing. */
export function imageAtAddress(input: SourceInput, url: string): ImageSource {
  const label = urlLabel(url)
  return { ...source(input, label, label, 0, Buffer.alloc(0), () => []), isAddress: true }
}

/** Without password, signature or inline content: messages and records may be read by others. */
function urlLabel(url: string): string {
  const parsed = URL.parse(url)
  if (parsed === null) return url.slice(0, maxShownUrl)
  if (parsed.protocol === 'data:') return `${url.slice(0, url.indexOf(',') + 1).slice(0, maxShownUrl)}…`
  return `${parsed.origin}${parsed.pathname}`
}

/** @param stem of the file name to send; its extension is determined by the bytes */
export function imageFromBytes(input: SourceInput, label: string, stem: string, content: Uint8Array) {
  if (content.length === 0) {
    throw new UsageError(`${input.name} ${label}: it is empty.`, { code: 'empty_file' })
  }
  const fileName = `${stem}.${extensionOf(mediaTypeOf(content))}`
  return source(input, label, fileName, content.length, content, () => [content])
}

function source(
  input: SourceInput,
  label: string,
  fileName: string,
  bytes: number,
  head: Uint8Array,
  open: ImageSource['open'],
): ImageSource {
  const info = readImageInfo(head)
  const digest = async () => {
    const hash = createHash('sha256')
    for await (const chunk of open()) hash.update(chunk)
    return hash.digest('hex')
  }
  return { ...input, label, fileName, bytes, mediaType: mediaTypeOf(head), info, open, digest }
}

/** The properties of a picture whose header follows unusually long metadata. */
async function infoBeyondHead({ mediaType, bytes, open }: ImageSource): Promise<ImageInfo | undefined> {
  if (mediaType !== 'image/jpeg' || bytes <= imageInfoHeadBytes) return undefined
  const container = openContainer(mediaType)
  for await (const chunk of open()) {
    container.add(chunk)
    const info = imageInfoOf(mediaType, container.shape)
    if (info !== undefined) return info
  }
  return undefined
}

function mediaTypeOf(head: Uint8Array): string {
  return sniffMediaType(head.subarray(0, 4096)) ?? 'application/octet-stream'
}

/** The problems with the pictures of an edit, each a sentence naming the input. All is read from the files' bytes. */
export async function sourceProblems(sources: readonly ImageSource[], model: Pick<Model, 'id' | 'family'>) {
  const limits = model.family?.sources
  const images = sources.filter(({ field }) => field === 'image')
  const mask = sources.find(({ field }) => field === 'mask')
  const [first] = images
  const problems: string[] = []
  if (first !== undefined && limits !== undefined && images.length > limits.max_count) {
    const most = limits.max_count === 1 ? 'once' : `at most ${limits.max_count} times`
    problems.push(`${first.name} may be given ${most} for ${subjectOf(model)}, not ${images.length} times.`)
  }
  for (const image of images) if (!image.isAddress) problems.push(...imageProblems(image, model))
  if (mask === undefined || mask.isAddress) return problems
  for await (const problem of maskProblems(mask, first?.isAddress ? undefined : first)) problems.push(problem)
  return problems
}

function* imageProblems(image: ImageSource, model: Pick<Model, 'id' | 'family'>): Generator<string> {
  const { info, mediaType } = image
  const name = nameOf(image)
  const limits = model.family?.sources
  if (info === undefined) yield `${name} is not an image that can be read (${mediaType}).`
  if (info === undefined || limits === undefined) return
  const { width, height } = info
  const subject = subjectOf(model)
  if (!limits.media_types.includes(mediaType)) {
    yield `${name} is ${mediaType}; ${subject} takes ${limits.media_types.join(', ')}.`
  }
  if (image.bytes >= limits.below_bytes) yield tooLarge(image, limits.below_bytes, subject)
  if (limits.square && width !== height) {
    yield `${name} is ${width}x${height}; ${subject} takes only square images.`
  }
}

async function* maskProblems(mask: ImageSource, first: ImageSource | undefined): AsyncGenerator<string> {
  const { info, mediaType, bytes } = mask
  const name = nameOf(mask)
  if (info === undefined || !maskLimits.media_types.includes(mediaType as 'image/png')) {
    return yield `${name} must be a PNG, not ${mediaType}.`
  }
  const { width, height } = info
  if (bytes >= maskLimits.below_bytes) yield tooLarge(mask, maskLimits.below_bytes, 'a mask')
  else {
    // It is small enough to be read for its content.
    const problem = await contentProblem(mask)
    if (problem !== undefined) yield `${name} ${problem}.`
  }
  const other = first?.info
  if (other !== undefined && (other.width !== width || other.height !== height)) {
    yield `${name} is ${width}x${height}; the first ${first!.name} is ${other.width}x${other.height}, and both must be the same.`
  }
}

async function contentProblem(mask: ImageSource): Promise<string | undefined> {
  const png = Buffer.concat(await Array.fromAsync(mask.open(), (chunk) => Buffer.from(chunk)))
  const container = openContainer('image/png')
  container.add(png)
  if (container.integrity().state !== 'whole') return 'is truncated: the PNG data ends too early'
  if (container.shape.hasAlpha !== true) return 'has no alpha channel, which marks what is to be edited'
  const isOpaque = (await hasTransparentPixel(png, 0)) === false
  return isOpaque ? 'has no fully transparent pixel (alpha 0), so nothing is marked to be edited' : undefined
}

function tooLarge(image: ImageSource, below: number, subject: string): string {
  return `${nameOf(image)} has ${image.bytes} bytes; ${subject} must be smaller than ${below / 1_000_000} MB.`
}

function nameOf({ name, label }: Pick<ImageSource, 'name' | 'label'>): string {
  const cut = label.length > maxShownLabel ? `${label.slice(0, maxShownLabel - 3)}…` : label
  return `${name} ${JSON.stringify(cut)}`
}
