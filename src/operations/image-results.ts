import type { Clock } from '../context.ts'
import { maxImages, urlLifetimeMinutes } from '../contract/images.ts'
import type { FileError, ModelgateError } from '../errors.ts'
import type { ImageDocument, ImageFailure, ImageLink, SavedImage } from '../events/image.ts'
import { outputVersion } from '../events/output-schema.ts'
import type { SavedFile } from '../events/text.ts'
import { mediaTypeOfName } from '../files/media-type.ts'
import type { ReceivedImage } from '../gateway/images/image-receiver.ts'
import type { ImageReply } from '../gateway/images/receive-images.ts'
import { readResponseUsage } from '../gateway/responses/transcript.ts'
import type { ImageRequest } from './image-request.ts'
import type { Call } from './operation.ts'

/** A result that the gateway returned as a URL. */
export interface RemoteImage {
  /** Number of the image, from 1. */
  readonly index: number
  readonly url: string
}

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
  reply: ImageReply | undefined
  readonly files: Map<number, Omit<SavedImage, 'revised_prompt'>>
  /** The images written to their targets, including standard output. */
  readonly saved: Set<number>
  readonly partials: SavedFile[]
  readonly remote: RemoteImage[]
  readonly links: ImageLink[]
  readonly failures: ImageFailure[]
  /** Why images were saved in the rescue folder; each is also a failure. */
  readonly rescued: FileError[]
  readonly warnings: string[]
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
    reply: undefined,
    files: new Map(),
    saved: new Set(),
    partials: [],
    remote: [],
    links: [],
    failures: [],
    rescued: [],
    warnings: [],
    reported: new Set(),
  }
}

/** The number of the image at a position of the reply, which may contain more than were requested. */
export function numberAt({ wanted }: ImageRequest, position: number): number {
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

/** Adds a result that is not downloaded. */
export function addLink({ clock, links }: ImageResults, { index, url }: RemoteImage): ImageLink {
  const expires_at = Math.floor(clock.now() / 1000) + urlLifetimeMinutes * 60
  const link = { index, url, expires_at }
  links.push(link)
  return link
}

/** The images that this request produced. */
export function madeImages({ files, received, request }: ImageResults): (readonly [number, SavedImage])[] {
  return [...files].map(([index, file]) => {
    const item = received.find((image) => numberAt(request, image.index) === index)
    return [index, { ...file, revised_prompt: item?.revised_prompt ?? null }]
  })
}

/** New and existing images, in order. */
function allImages(results: ImageResults): (readonly [number, SavedImage])[] {
  const existing = results.request.existing.map(({ index, file }) => [index, file] as const)
  return [...existing, ...madeImages(results)].sort(([a], [b]) => a - b)
}

/**
 * Reports the files that have not been reported yet.
 * @param last number of the last image to report, if more are expected
 */
export function reportFiles(results: ImageResults, last = Infinity): void {
  for (const [index, file] of allImages(results)) {
    if (results.reported.has(index) || index > last) continue
    results.reported.add(index)
    results.listener.event({ type: 'image-save', index, file })
    const promised = /^image\/(.+)$/.exec(mediaTypeOfName(file.path) ?? '')?.[1]
    if (promised !== undefined && promised !== file.format) {
      warn(results, `${file.path} holds a ${file.format} image, although its name says ${promised}.`)
    }
  }
}

export function imageDocument(results: ImageResults): ImageDocument {
  const { request, requestId, reply, partials, links, failures, warnings } = results
  const { command, model } = request
  return {
    version: outputVersion,
    command,
    model,
    files: allImages(results).map(([, file]) => file),
    usage: readResponseUsage(reply?.usage),
    request_id: requestId,
    response: reply?.response ?? null,
    partials,
    links,
    failures,
    warnings,
  }
}
