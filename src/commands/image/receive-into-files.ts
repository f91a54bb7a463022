import type { Context } from '../../context.ts'
import {
  AlreadyReported,
  FileError,
  GenerationError,
  ModelgateError,
  asModelgateError,
} from '../../errors.ts'
import { absoluteUrl } from '../../gateway/download/download.ts'
import type { Gateway, GatewayRequest } from '../../gateway/gateway.ts'
import { receiveImages, type ImageReceiver, type ImageReply } from '../../gateway/images/receive-images.ts'
import type { Gate } from '../../output/gate.ts'
import type { Output } from '../../output/output.ts'
import { createPreview } from '../../output/preview/create-preview.ts'
import { countMismatch } from '../../operations/operation.ts'
import { withBilling } from '../shared/open-gateway.ts'
import { createImageResults, type ImageResults } from './image-results.ts'
import { fetchResults, stoppedError } from './fetch-results.ts'
import type { ImageOptions } from './image-options.ts'
import { createImageReport, type ImageReport } from './image-report.ts'
import type { ImageRequest } from './image-request.ts'
import { createHash } from 'node:crypto'
import type { SavedImage } from '../../events/image.ts'
import { writeSidecar, type InputDigest } from '../../files/sidecar.ts'
import type { ImageSource } from './sources.ts'

/** A request on its way, and where what comes of it is told. */
export interface Sending {
  readonly gateway: Gateway
  readonly gate: Gate
  readonly hasSent: () => boolean
  readonly wire: GatewayRequest
  readonly output: Output
}

/** Sends a request, saves every image of the reply, and says what became of each. */
export async function receiveIntoFiles(
  context: Context,
  options: ImageOptions,
  request: ImageRequest,
  { gateway, gate, hasSent, wire, output }: Sending,
): Promise<void> {
  let reply: ImageReply | undefined
  let requestId: string | null = null
  let hasReplied = false
  const report = createImageReport({
    context,
    request,
    output,
    album: () => album,
    reply: () => reply,
    requestId: () => requestId,
  })
  const quiet = options.quiet === true || options.json === true || options.jsonl === true
  const album = createImageResults({
    context,
    options,
    request,
    output,
    preview: quiet ? undefined : createPreview(context, { mode: request.preview }),
    id: () => gate.text(requestId ?? ''),
    warn: report.warn,
  })
  try {
    report.start()
    const inputs = options.sidecar ? await digestSources(request) : []
    const replied = (id: string | null) => {
      hasReplied = true
      requestId = id
    }
    const receiver: ImageReceiver = {
      ...album,
      replied,
      came: report.came,
      url: ({ index, url }) => album.url({ index, url: absoluteUrl(url, gateway.baseUrl) }),
    }
    const broken = await receiveImages(gateway, wire, receiver).then(
      (whole) => void (reply = whole),
      (error: unknown) => asModelgateError(error, options.debug === true),
    )
    if (broken !== undefined && gateway.signal.aborted) throw stoppedError(broken, album, report)
    await keepFound(gateway, options, album, { report, output })
    await report.tellFiles()
    if (options.sidecar) {
      const facts = {
        requestId,
        usage: reply?.usage,
        inputs,
        force: options.force === true,
        warn: report.warn,
        clean: gate.document,
      }
      await writeSidecars(context, request, report.made(), facts)
    }
    const { total, most } = album
    if (total > most) report.warn(countMismatch(total, request.wanted.length, 'image', most))
    if (broken !== undefined) failMissing(album, request, broken)
    failRescued(album)
    judge(options, request, album, report)
    // The document on standard output tells of every image; words do that on standard error.
    if (album.failures.length === 0 || options.json || options.jsonl) await output.end(report.document())
  } catch (error) {
    const failure = withBilling(asModelgateError(error, options.debug === true), hasSent())
    const known = afterSending(failure, hasReplied)
    await report.tellFiles()
    await output.error(known, report.document())
    throw new AlreadyReported(known)
  }
  if (album.failures.length === 0) return
  const failure = someFailed(album, request, options)
  if (!options.json && !options.jsonl) await output.error(failure, report.document())
  throw new AlreadyReported(failure)
}

/**
 * What was right when it was looked at, and is not any more, is no mistake in the call by now: a place for files, and
 * when the gateway has replied, there was something to be saved; or, before that, a picture that was to be sent.
 */
function afterSending(error: ModelgateError, hasReplied: boolean): ModelgateError {
  const { exit, code, message, facts } = error
  if (exit === 'usage' && !hasReplied) return new FileError(code, message, { ...facts, phase: 'send' })
  const isUnsaid = exit === 'io' && facts.billed === undefined
  if (exit !== 'usage' && !(isUnsaid && hasReplied)) return error
  return new FileError(code, message, { ...facts, phase: 'output', billed: 'yes' })
}

/** Each failure has been told, unless the command was to be quiet. */
function someFailed(
  { failures }: ImageResults,
  { wanted }: ImageRequest,
  { quiet }: ImageOptions,
): ModelgateError {
  const told = failures.map(({ index, message }) => `Image ${index} failed: ${message}`)
  const message = quiet ? told.join('\n') : `${failures.length} of ${wanted.length} images failed.`
  const rescued = failures.flatMap((failure) => failure.rescued ?? [])
  return new ModelgateError('partial', 'some_images_failed', message, {
    phase: 'result',
    billed: 'yes',
    ...(rescued.length === 0 ? {} : { rescued }),
  })
}

/** @throws the first error when no image is where it belongs: then it is the command's */
function failRescued({ rescued, saved, links }: ImageResults): void {
  const [first] = rescued
  if (first === undefined || saved.size + links.length > 0) return
  const paths = rescued.flatMap(({ facts }) => facts.rescued ?? [])
  throw new FileError(first.code, first.message, { ...first.facts, rescued: paths })
}

/** Downloads the results that came as addresses, or with `--no-download` lists them. */
async function keepFound(
  gateway: Gateway,
  options: ImageOptions,
  album: ImageResults,
  { report, output }: { readonly report: ImageReport; readonly output: Output },
): Promise<void> {
  if (options.download) return fetchResults(gateway, options, album, report)
  for (const found of album.found) {
    const link = report.link(found)
    album.links.push(link)
    output.event({ type: 'image-link', link })
  }
  if (album.saved.size > 0) {
    report.warn('The gateway sent the image itself in place of a URL, so it was saved.')
  }
}

/**
 * The reply broke off, or said that something went wrong, when a part of the images had come.
 * @throws the error, unless it only says why the others are missing: an unknown outcome is no failed image
 */
function failMissing(album: ImageResults, { wanted }: ImageRequest, error: ModelgateError): void {
  const isAnswer = error.exit === 'contract' || error.exit === 'failed'
  const missing = wanted.filter((index) => !album.has(index))
  if (!isAnswer || missing.length === wanted.length) throw error
  for (const index of missing) album.fail(index, error)
}

/** Fewer images than were asked for are a result, and worth a word. */
function judge(
  options: ImageOptions,
  { wanted }: ImageRequest,
  { saved, links, failures, total, most }: ImageResults,
  report: ImageReport,
): void {
  if (failures.length > 0 || total > most) return
  const [came, asked] = [saved.size + links.length, wanted.length]
  if (came === asked) return
  const message = countMismatch(came, asked, 'image')
  if (came < asked && options.strict) {
    throw new GenerationError('fewer_images', message, { billed: 'yes' })
  }
  report.warn(message)
}

interface SidecarFacts {
  readonly requestId: string | null
  readonly usage: unknown
  readonly inputs: readonly InputDigest[]
  readonly force: boolean
  readonly warn: (message: string) => void
  /** Takes secrets out of the JSON that is written. */
  readonly clean: (json: string) => string
}

/** What the pictures that go along are. To be asked before the images come: these may replace them. */
function digestSources({ images, mask }: ImageRequest): Promise<InputDigest[]> {
  return Promise.all([...images, ...(mask === undefined ? [] : [mask])].map(digest))
}

/**
 * Writes how each image was made beside it (`--sidecar`): enough to make it again, and to know it again. A record that
 * cannot be written is a warning: the image is there.
 */
async function writeSidecars(
  context: Context,
  request: ImageRequest,
  files: readonly SavedImage[],
  { requestId, usage, inputs, force, warn, clean }: SidecarFacts,
): Promise<void> {
  const { prompt: _, model: __, ...parameters } = request.body
  for (const { revised_prompt, ...output } of files) {
    const record = {
      command: request.command,
      model: request.model,
      prompt: request.prompt,
      revised_prompt,
      parameters,
      request_id: requestId,
      usage: usage ?? null,
      inputs,
      output,
    }
    await writeSidecar(context, record, { force, clean }).catch((error: unknown) => {
      if (!(error instanceof ModelgateError)) throw error
      warn(`The record of ${output.path} is not kept: ${error.message}`)
    })
  }
}

async function digest(source: ImageSource): Promise<InputDigest> {
  const hash = createHash('sha256')
  for await (const chunk of source.open()) hash.update(chunk)
  return { field: source.flag.slice(2), path: source.label, bytes: source.bytes, sha256: hash.digest('hex') }
}
