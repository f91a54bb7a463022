import { basename, resolve } from 'node:path'
import type { Context } from '../../context.ts'
import { ModelgateError, UsageError } from '../../errors.ts'
import { extensionOf } from '../../files/file-name.ts'
import { imageInfoHeadBytes, readImageInfo, type ImageInfo } from '../../files/image-info.ts'
import { sniffMediaType } from '../../files/media-type.ts'
import { describeInputFile } from '../../files/input-file.ts'
import { fileChunks } from '../../gateway/multipart.ts'
import { readStandardInputBytes } from '../shared/standard-input.ts'
import type { FamilyId } from '../../contract/families.ts'
import { maskLimits, sourceLimits, type SourceLimits } from '../../contract/image-files.ts'
import { readContainer } from '../../files/container-end.ts'
import type { Settings } from '../../config/settings.ts'
import { download } from '../../gateway/download/download.ts'
import { openGateway } from '../shared/open-gateway.ts'
import type { ImageOptions } from './image-options.ts'

/** A picture that will be uploaded, known by its own first bytes. */
export interface ImageSource {
  /** As it was given: a path, a URL, or `-`. */
  readonly label: string
  /** The flag that names it. */
  readonly flag: '--image' | '--mask'
  readonly fileName: string
  readonly bytes: number
  readonly mediaType: string
  /** Undefined for what is no picture that is known here. */
  readonly info: ImageInfo | undefined
  /** The bytes, from the beginning. */
  open(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>
}

/** More than any family takes: what is larger is refused before it is looked at. */
const maxSourceBytes = 1024 * 1024 * 1024
const longestShownUrl = 200

/**
 * Looks at what `--image` or `--mask` names: a file, `-` for standard input, or a URL, which is fetched.
 * @param fetchUrl gets the bytes of a URL, safely
 * @throws UsageError, FileError naming the flag
 */
export async function readImageSource(
  context: Context,
  flag: ImageSource['flag'],
  label: string,
  fetchUrl: (url: string) => Promise<Uint8Array>,
): Promise<ImageSource> {
  if (label === '-') return inMemory(flag, label, 'stdin', await readStandardInputBytes(context, `${flag} -`))
  if (isUrl(label)) {
    const shown = shownUrl(label)
    return inMemory(flag, shown, 'image', await fetched(`${flag} ${JSON.stringify(shown)}`, label, fetchUrl))
  }
  const file = await describeInputFile(context, label, {
    maxBytes: maxSourceBytes,
    headBytes: imageInfoHeadBytes,
  })
  if (file instanceof ModelgateError) {
    throw new ModelgateError(file.exit, file.code, `${flag}: ${file.message}`, file.facts)
  }
  const { content } = file
  if (content !== undefined) return inMemory(flag, label, basename(label), content)
  const path = resolve(context.cwd, label)
  return source(flag, label, basename(label), file.bytes, file.head, () => fileChunks(path))
}

/** Whether a source is no file but what an address holds. */
export function isUrl(label: string): boolean {
  return /^(?:https?|data):/i.test(label)
}

/** What cannot be fetched is a mistake in the call as long as another address would help. */
async function fetched(
  named: string,
  url: string,
  fetchUrl: (url: string) => Promise<Uint8Array>,
): Promise<Uint8Array> {
  try {
    return await fetchUrl(url)
  } catch (error) {
    if (!(error instanceof ModelgateError)) throw error
    const exit = error.exit === 'contract' || error.exit === 'rejected' ? 'usage' : error.exit
    const { hint: _, ...facts } = error.facts
    throw new ModelgateError(exit, error.code, `${named}: ${error.message}`, { ...facts, phase: 'input' })
  }
}

/** Without a password, a signature, or the content itself: messages and records are read by others. */
function shownUrl(url: string): string {
  const parsed = URL.parse(url)
  if (parsed === null) return url.slice(0, longestShownUrl)
  if (parsed.protocol === 'data:') return `${url.slice(0, url.indexOf(',') + 1).slice(0, longestShownUrl)}…`
  return `${parsed.origin}${parsed.pathname}`
}

function inMemory(flag: ImageSource['flag'], label: string, stem: string, content: Uint8Array): ImageSource {
  if (content.length === 0)
    throw new UsageError(`${flag} ${label}: there is nothing in it.`, { code: 'empty_file' })
  const mediaType = sniffMediaType(content.subarray(0, 4096)) ?? 'application/octet-stream'
  return source(flag, label, `${stem}.${extensionOf(mediaType)}`, content.length, content, () => [content])
}

function source(
  flag: ImageSource['flag'],
  label: string,
  fileName: string,
  bytes: number,
  head: Uint8Array,
  openBytes: ImageSource['open'],
): ImageSource {
  const mediaType = sniffMediaType(head.subarray(0, 4096)) ?? 'application/octet-stream'
  const info = readImageInfo(head.subarray(0, imageInfoHeadBytes))
  return { flag, label, fileName, bytes, mediaType, info, open: openBytes }
}

/**
 * What is wrong with the pictures of an edit (specification, Limits), each a sentence naming the flag.
 * Type, dimensions and transparency come from the files' own bytes, never from their names.
 * @param family undefined for a model of no known family: then only the rules for every model hold
 */
export async function sourceProblems(
  images: readonly ImageSource[],
  mask: ImageSource | undefined,
  family: FamilyId | undefined,
): Promise<string[]> {
  const limits: SourceLimits | undefined =
    family !== undefined && Object.hasOwn(sourceLimits, family)
      ? sourceLimits[family as keyof typeof sourceLimits]
      : undefined
  return [
    ...(limits !== undefined && images.length > limits.maxCount
      ? [`--image may be given ${times(limits.maxCount)} for ${family}, not ${images.length} times.`]
      : []),
    ...images.flatMap((image) => imageProblems(image, limits, family)),
    ...(mask === undefined ? [] : await maskProblems(mask, images[0])),
  ]
}

function times(count: number): string {
  return count === 1 ? 'once' : `at most ${count} times`
}

function imageProblems(image: ImageSource, limits: SourceLimits | undefined, family?: FamilyId): string[] {
  if (image.info === undefined)
    return [`${named(image)} is not a picture that can be read (${image.mediaType}).`]
  if (limits === undefined) return []
  const { width, height } = image.info
  return [
    ...(limits.mediaTypes.includes(image.mediaType)
      ? []
      : [`${named(image)} is ${image.mediaType}; ${family} takes ${limits.mediaTypes.join(', ')}.`]),
    ...sizeProblem(image, limits.below, family ?? ''),
    ...(limits.square && width !== height
      ? [`${named(image)} is ${width}x${height}; ${family} takes only square pictures.`]
      : []),
  ]
}

async function maskProblems(mask: ImageSource, first: ImageSource | undefined): Promise<string[]> {
  if (mask.info === undefined || !maskLimits.mediaTypes.includes(mask.mediaType as 'image/png')) {
    return [`${named(mask)} must be a PNG, not ${mask.mediaType}.`]
  }
  const { width, height, hasAlpha } = mask.info
  const other = first?.info
  return [
    ...sizeProblem(mask, maskLimits.below, 'a mask'),
    ...(await wholenessProblem(mask)),
    ...(hasAlpha ? [] : [`${named(mask)} has no alpha channel, which marks what is to be edited.`]),
    ...(other === undefined || (other.width === width && other.height === height)
      ? []
      : [
          `${named(mask)} is ${width}x${height}; the first --image is ${other.width}x${other.height}, and both must be the same.`,
        ]),
  ]
}

/** A mask has to be a valid PNG, and is small enough to be read for that; one that is too large is refused anyway. */
async function wholenessProblem(mask: ImageSource): Promise<string[]> {
  if (mask.bytes >= maskLimits.below) return []
  const container = readContainer('png')
  for await (const chunk of mask.open()) container.add(chunk)
  return container.integrity().state === 'whole'
    ? []
    : [`${named(mask)} is not whole: the PNG data ends too early.`]
}

function sizeProblem(image: ImageSource, below: number, whose: string): string[] {
  return image.bytes < below
    ? []
    : [`${named(image)} has ${image.bytes} bytes; ${whose} must be smaller than ${below / 1_000_000} MB.`]
}

function named({ flag, label }: ImageSource): string {
  return `${flag} ${JSON.stringify(label.length > 100 ? `${label.slice(0, 97)}…` : label)}`
}

/** A source picture by URL is held in memory until it is sent; no family takes a larger one. */
const maxFetchedBytes = sourceLimits['image-model-a'].below

/** Fetches a source picture by its URL, under the same rules as result URLs: no key to another origin, no private address. */
export async function fetchSource(
  context: Context,
  options: ImageOptions,
  settings: Settings | undefined,
  url: string,
): Promise<Uint8Array> {
  if (settings === undefined)
    throw new UsageError(`${url} cannot be fetched before the configuration is right.`)
  const { gateway, close } = await openGateway(context, options, settings, false, () => undefined)
  const chunks: Uint8Array[] = []
  try {
    await download(
      gateway,
      url,
      {
        write: async (bytes) => void chunks.push(Buffer.from(bytes)),
      },
      { maxBytes: maxFetchedBytes, allowPrivate: options.allowPrivateUrls === true },
    )
    return Buffer.concat(chunks)
  } finally {
    await close()
  }
}
