import type { Context } from '../../context.ts'
import type { ImageDocument, ImageLink, SavedImage } from '../../events/image.ts'
import { urlLifetimeMinutes } from '../../contract/images.ts'
import { outputVersion } from '../../events/schema.ts'
import { mediaTypeOfName } from '../../files/file-name.ts'
import type { ReceivedImage } from '../../gateway/images/image-receiver.ts'
import type { ImageReply } from '../../gateway/images/receive-images.ts'
import { readResponseUsage } from '../../gateway/responses/usage.ts'
import type { Output } from '../../output/output.ts'
import type { ImageResults, FoundLink } from './image-results.ts'
import type { ImageRequest } from './image-request.ts'
import { describeExisting } from './report-existing.ts'

/** What is said of a request and its images, while they come and at the end. */
export interface ImageReport {
  start(): void
  warn(message: string): void
  /** An image of the reply is where it belongs: says so at once. */
  came(image: ReceivedImage): Promise<void>
  /**
   * Says where the images are that have been saved since the last time, and those that had been there before.
   * @param last number of the last image to tell of, while others are still to come
   */
  tellFiles(last?: number): Promise<void>
  /** A result that stays where it is. */
  link(found: FoundLink): ImageLink
  /** The images that this request made. */
  made(): readonly SavedImage[]
  document(): ImageDocument
}

export interface ReportParts {
  readonly context: Context
  readonly request: ImageRequest
  readonly output: Output
  readonly album: () => ImageResults
  readonly reply: () => ImageReply | undefined
  readonly requestId: () => string | null
}

export function createImageReport(parts: ReportParts): ImageReport {
  const { context, request, output, album, reply, requestId } = parts
  const { command, model } = request
  const warnings: string[] = []
  const told = new Set<number>()
  const came: ReceivedImage[] = []
  let existing: Map<number, SavedImage> | undefined

  const describeMade = (index: number, file: Omit<SavedImage, 'revised_prompt'>): SavedImage => {
    const item = (reply()?.images ?? came).find((image) => album().numberAt(image.index) === index)
    return { ...file, revised_prompt: item?.revised_prompt ?? null }
  }
  const byNumber = () => {
    const made = [...album().files].map(([index, file]) => [index, describeMade(index, file)] as const)
    return [...(existing ?? []), ...made].sort(([a], [b]) => a - b)
  }
  const warn = (message: string) => {
    warnings.push(message)
    output.event({ type: 'warning-add', message })
  }
  const tellFiles = async (last = Infinity) => {
    existing ??= new Map(
      (await describeExisting(context, request.existing)).map(({ index, file }) => [index, file]),
    )
    for (const [index, file] of byNumber()) {
      if (told.has(index) || index > last) continue
      told.add(index)
      output.event({ type: 'image-save', index, file })
      const promised = /^image\/(.+)$/.exec(mediaTypeOfName(file.path) ?? '')?.[1]
      if (promised !== undefined && promised !== file.format) {
        warn(`${file.path} holds a ${file.format} image, although its name says ${promised}.`)
      }
    }
  }
  return {
    warn,
    start() {
      output.event({ type: 'start', version: outputVersion, command, model })
      for (const message of request.warnings) warn(message)
    },
    async came(image) {
      came.push(image)
      const number = album().numberAt(image.index)
      // Those before it that have to be fetched are told first.
      if (album().found.every(({ index }) => index > number)) await tellFiles(number)
    },
    tellFiles,
    link: ({ index, url }) => ({
      index,
      url,
      expires_at: Math.floor(context.clock.now() / 1000) + urlLifetimeMinutes * 60,
    }),
    made: () => [...album().files].map(([index, file]) => describeMade(index, file)),
    document: (): ImageDocument => ({
      version: outputVersion,
      command,
      model,
      files: byNumber().map(([, file]) => file),
      usage: readResponseUsage(reply()?.usage),
      request_id: requestId(),
      response: reply()?.response ?? null,
      partials: album().partials,
      links: album().links,
      failures: album().failures,
      warnings,
    }),
  }
}
