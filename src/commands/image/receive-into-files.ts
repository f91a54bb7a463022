import type { Context } from '../../context.ts'
import { GenerationError, Ended, ModelgateError, asModelgateError } from '../../errors.ts'
import type { ImageDocument, SavedImage } from '../../contract/image-event.ts'
import { urlLifetimeMinutes } from '../../contract/images.ts'
import { outputVersion } from '../../contract/text-event.ts'
import { download } from '../../gateway/download.ts'
import type { Gateway, GatewayRequest } from '../../gateway/gateway.ts'
import { receiveImages, type ImageReply } from '../../gateway/images/receive-images.ts'
import { readResponseUsage } from '../../gateway/responses/usage.ts'
import type { Output } from '../../output/output.ts'
import { createPreview } from '../../output/preview/create-preview.ts'
import { createAlbum, type Album } from './album.ts'
import type { ImageOptions } from './image-options.ts'
import type { ImageRequest } from './image-request.ts'
import { describeExisting } from './report-existing.ts'
import { writeSidecars } from './write-sidecars.ts'

/** A result is at most this large (faults, section 1.5). */
const maxDownloadBytes = 2 * 1024 ** 3

/** Sends a request, saves every image of the reply, and says what became of each. */
export async function receiveIntoFiles(
  context: Context,
  options: ImageOptions,
  request: ImageRequest,
  { gateway, wire, output }: { gateway: Gateway; wire: GatewayRequest; output: Output },
): Promise<void> {
  const { command, model } = request
  const warnings: string[] = []
  let reply: ImageReply | undefined
  let requestId: string | null = null
  const warn = (message: string) => {
    warnings.push(message)
    output.event({ type: 'warning-add', message })
  }
  const quiet = options.quiet === true || options.json === true || options.jsonl === true
  const preview = quiet ? undefined : createPreview(context, { mode: request.preview })
  const album = createAlbum({ context, options, request, output, preview, id: () => requestId ?? '', warn })
  let files: SavedImage[] = []
  let reported = 0
  /** Says where the images are that have been saved since the last time. */
  const report = async () => {
    const made = [...album.files]
      .sort(([a], [b]) => a - b)
      .map(([index, file]) => ({ index, file: withPrompt(index, file, album, reply) }))
    for (const { index, file } of made.slice(reported)) output.event({ type: 'image-save', index, file })
    reported = made.length
    files = [...(await describeExisting(context, request.existing)), ...made.map(({ file }) => file)]
  }
  const document = (): ImageDocument => ({
    version: outputVersion,
    command,
    model,
    files,
    usage: readResponseUsage(reply?.usage),
    request_id: requestId,
    response: reply?.response ?? null,
    partials: album.partials,
    links: album.links,
    failures: album.failures,
    warnings,
  })
  try {
    output.event({ type: 'start', version: outputVersion, command, model })
    for (const message of request.warnings) warn(message)
    reply = await receiveImages(gateway, wire, { ...album, replied: (id) => (requestId = id) })
    if (options.download) await fetchFound(gateway, options, album)
    else listFound(context, album, output)
    await report()
    if (options.sidecar)
      await writeSidecars(context, request, files.slice(request.existing.length), {
        requestId,
        usage: reply.usage,
        force: options.force === true,
      })
    judge(options, request, reply, warn)
    await output.end(document())
  } catch (error) {
    const known = asModelgateError(error, options.debug === true)
    await report()
    await output.error(known, document())
    throw new Ended(known)
  }
  if (album.failures.length > 0) {
    throw new Ended(
      new ModelgateError('partial', 'some_images_failed', `${album.failures.length} images failed.`),
    )
  }
}

function withPrompt(
  index: number,
  file: Omit<SavedImage, 'revised_prompt'>,
  album: Album,
  reply: ImageReply | undefined,
): SavedImage {
  const item = reply?.images.find((image) => album.numberAt(image.index) === index)
  return { ...file, revised_prompt: item?.revised_prompt ?? null }
}

/** Downloads every result at once: its address lives only for a while. */
async function fetchFound(gateway: Gateway, options: ImageOptions, album: Album): Promise<void> {
  let first: ModelgateError | undefined
  for (const { index, url } of album.found) {
    const writer = album.openDownload(index)
    try {
      await download(gateway, url, writer, {
        maxBytes: maxDownloadBytes,
        allowPrivate: options.allowPrivateUrls === true,
      })
      await writer.done()
    } catch (error) {
      await writer.drop()
      if (gateway.signal.aborted) throw error
      first ??= album.fail(index, error)
    }
  }
  // Nothing at all was saved: then the first failure is the command's.
  if (first !== undefined && album.files.size === 0) throw first
}

function listFound(context: Context, album: Album, output: Output): void {
  for (const { index, url } of album.found) {
    const link = { index, url, expires_at: Math.floor(context.clock.now() / 1000) + urlLifetimeMinutes * 60 }
    album.links.push(link)
    output.event({ type: 'image-link', link })
  }
}

/** Fewer images than were asked for are a result, and worth a word. */
function judge(
  options: ImageOptions,
  request: ImageRequest,
  reply: ImageReply,
  warn: (message: string) => void,
): void {
  const [came, asked] = [reply.images.length, request.wanted.length]
  if (came === asked) return
  const message = `${came} images came, ${asked} were asked for.`
  if (came < asked && options.strict) {
    throw new GenerationError('fewer_images', message, { billed: 'yes' })
  }
  warn(message)
}
