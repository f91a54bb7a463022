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

/** A result that the gateway gives by its address. */
export interface RemoteImage {
  /** Number of the image, from 1. */
  readonly index: number
  readonly url: string
}

/** What has become of the images of one request so far. Images are numbered from 1, as their files are. */
export interface ImageResults {
  readonly clock: Clock
  readonly listener: Call['listener']
  readonly request: ImageRequest
  requestId: string | null
  hasReplied: boolean
  /** How many images the reply holds or names, also those that are not kept. */
  total: number
  /** What the reply says of images that have come whole, by their positions. */
  received: readonly ReceivedImage[]
  reply: ImageReply | undefined
  readonly files: Map<number, Omit<SavedImage, 'revised_prompt'>>
  /** The images that went where they belong, standard output among these places. */
  readonly saved: Set<number>
  readonly partials: SavedFile[]
  readonly remote: RemoteImage[]
  readonly links: ImageLink[]
  readonly failures: ImageFailure[]
  /** Why images are in the rescue folder instead of where they belong; each is a failure, too. */
  readonly rescued: FileError[]
  readonly warnings: string[]
  /** Those whose file has been reported. */
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

/** The number of the image at a position of the reply, which may hold more than were asked for. */
export function numberAt({ wanted }: ImageRequest, position: number): number {
  return wanted[position] ?? Math.max(...wanted) + position - wanted.length + 1
}

/**
 * As many as were asked for, or as one request can make. More than was asked for may have been paid for; but no gateway
 * is to fill a folder.
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
  // More than was asked for is not missed.
  if (!request.wanted.includes(index)) return warn(results, message)
  const failure = { index, code, message, rescued: facts.rescued?.[0] ?? null }
  failures.push(failure)
  // Of the only one the error of the operation tells.
  if (request.wanted.length > 1 || failure.rescued === null) listener.event({ type: 'image-fail', failure })
}

/** Whether it is known what became of an image. */
export function isSettled({ saved, links, failures }: ImageResults, index: number): boolean {
  return saved.has(index) || [...links, ...failures].some((known) => known.index === index)
}

/** A result that stays where it is. */
export function addLink({ clock, links }: ImageResults, { index, url }: RemoteImage): ImageLink {
  const expires_at = Math.floor(clock.now() / 1000) + urlLifetimeMinutes * 60
  const link = { index, url, expires_at }
  links.push(link)
  return link
}

/** The images that this request made. */
export function madeImages({ files, received, request }: ImageResults): (readonly [number, SavedImage])[] {
  return [...files].map(([index, file]) => {
    const item = received.find((image) => numberAt(request, image.index) === index)
    return [index, { ...file, revised_prompt: item?.revised_prompt ?? null }]
  })
}

/** The images that were made and those that had been there before, in order. */
function allImages(results: ImageResults): (readonly [number, SavedImage])[] {
  const existing = results.request.existing.map(({ index, file }) => [index, file] as const)
  return [...existing, ...madeImages(results)].sort(([a], [b]) => a - b)
}

/**
 * Reports the files that have not been reported yet.
 * @param last number of the last image to report, while others are still to come
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
