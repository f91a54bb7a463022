import { randomBytes } from 'node:crypto'
import { asModelgateError, GenerationError, ModelgateError, Interrupted } from '../errors.ts'
import type { ImageDocument } from '../events/image.ts'
import type { MadeImages, RemoteImage } from '../files/calls/job-record.ts'
import type { JobStore, StoredJob } from '../files/calls/job-store.ts'
import { keepDamaged } from '../files/media-file.ts'
import { leadTo, type NextCommand } from '../files/next-command.ts'
import { writeSidecar, type InputDigest } from '../files/sidecar.ts'
import { download, hintApplies, notFetched } from '../gateway/download/download.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { receiveImages } from '../gateway/images/image-reply.ts'
import { imageGatewayRequest, type ImagePlan, type ImageRequest } from './image-request.ts'
import { createImageWriters, ImageResults, type ImageViewer, type ImageWriters } from './image-results.ts'
import { recordJob, type RecordPlan } from './jobs.ts'
import { someFailed } from './media-results.ts'
import { settle, type Call, type Outcome } from './operation.ts'

/** Generates images, and saves every image or URL in the reply. */
export async function makeImages(call: Call, request: ImageRequest, plan: ImagePlan, viewer?: ImageViewer) {
  const { gateway, listener } = call
  const results = new ImageResults(call, request)
  const writers = createImageWriters(call, results, plan, viewer)
  const work = async () => {
    for (const message of request.warnings) results.warn(message)
    // Now, because the new images may replace the source files.
    const sources = plan.sidecar ? request.sources : []
    const digests = sources.map(async ({ field, label: path, bytes, digest }) => {
      return { field, path, bytes, sha256: await digest() }
    })
    const inputs = await Promise.all(digests)
    const wire = imageGatewayRequest(gateway, request, (sent, total) =>
      listener.event({ type: 'upload-progress', sent, total }),
    )
    /** Why the reply broke off; earlier images are among the results. */
    let broken: ModelgateError | undefined
    try {
      results.response = await receiveImages(gateway, wire, writers.receiver)
    } catch (error) {
      broken = asModelgateError(error, gateway.trace !== undefined)
    }
    if (plan.relay !== undefined) {
      await plan.relay.commit().catch((error: unknown) => {
        // An error that there is already is the one to report.
        if (broken === undefined || !(error instanceof Error)) throw error
        results.warn(error.message)
      })
    } else if (!plan.download) {
      for (const image of results.remote) results.addLink(image, true)
      if (results.saved.size > 0) {
        results.warn('The gateway sent the image itself in place of a URL, so it was saved.')
      }
    } else if (results.remote.length > 0) {
      const made = results.made(gateway.baseUrl.origin)
      results.next = (await plan.onMade?.(made, wire.idempotencyKey)) ?? undefined
    }
    if (broken !== undefined && gateway.signal.aborted) throw interrupted(broken, results)
    if (plan.download) await downloadImages(gateway, results, writers, plan)
    results.reportFiles()
    if (plan.sidecar) await writeSidecars(call, results, inputs, plan)
    const { total } = results
    const kept = plan.relay === undefined ? results.maxKept : total
    // Of an image that was not requested `-o -` has its own warning.
    if (total > (request.outputs.toStandardOutput ? kept : request.wanted.length)) {
      results.warnOfCount(total, request.wanted.length, Math.min(total, kept))
    }
    return await judge(call, results, plan, broken)
  }
  return settle(
    call,
    work,
    () => results.document(),
    (error) => {
      results.reportFiles()
      const known = afterSending(error, results.requestId !== undefined)
      // Some hints say what --raw would show.
      const isShown = plan.relay === undefined || !known.facts.hint?.includes('--raw')
      return isShown ? known : known.amend({ hint: null })
    },
  )
}

/** Fetches images from the addresses on record: nothing is billed. @param next the command that does so once more */
export async function fetchImages(
  call: Call,
  request: ImageRequest,
  plan: ImagePlan,
  made: MadeImages,
  next?: NextCommand,
) {
  const results = new ImageResults(call, request, 'wait')
  Object.assign(results, { next, requestId: made.request_id, usage: made.usage })
  results.remote.push(...made.images)
  const work = async () => {
    const writers = createImageWriters(call, results, plan, undefined)
    await downloadImages(call.gateway, results, writers, plan, made.expires_at)
    results.reportFiles()
    return await judge(call, results, plan)
  }
  return settle(call, work, () => results.document())
}

/**
 * @param broken why the reply broke off, which also says why images are missing
 * @returns the error for images that failed, or are not what was asked for @throws ModelgateError when none came
 */
async function judge(
  { context }: Call,
  results: ImageResults,
  { acceptMismatch, strict }: ImagePlan,
  broken?: ModelgateError,
): Promise<ModelgateError | undefined> {
  const { errors, saved, links, failures, doubts, request, next } = results
  const { length } = request.wanted
  const missing = results.missing()
  const isAnswer = broken?.exit === 'contract' || broken?.exit === 'failed'
  if (broken !== undefined && (!isAnswer || missing.length === length)) throw broken
  const fewer = `The gateway sent only ${length - missing.length} of ${length} images.`
  const reason = broken ?? new GenerationError('nothing_generated', fewer)
  for (const index of missing) results.fail(index, reason)
  const rescued = errors.flatMap(({ facts }) => facts.rescued ?? [])
  if (rescued.length > 0 && saved.size + links.length === 0) {
    throw errors.find(({ facts }) => facts.rescued !== undefined)!.amend({ rescued })
  }
  await results.compare(context.cwd)
  if (failures.length > 0) {
    const some = someFailed(`${failures.length} of ${length} images failed.`, errors)
    return some.exit === 'running' ? some.amend(fetchLater(next)) : some
  }
  const pathOf = (index: number) => {
    const image = saved.get(index)
    return image?.content === undefined ? image?.path : undefined
  }
  const mismatch = acceptMismatch ? undefined : results.mismatchError(pathOf)
  if (mismatch !== undefined || !strict || doubts.size === 0) return mismatch
  const subject = doubts.size === 1 ? 'An image' : `${doubts.size} images`
  const message = `${subject} could not be verified as what was asked for.`
  throw new GenerationError('damaged_media', message, { billed: 'yes' })
}

export function takeExistingImages(
  call: Pick<Call, 'context' | 'listener'>,
  request: ImageRequest,
): Outcome<ImageDocument> {
  const results = new ImageResults(call, request)
  results.reportFiles()
  const document = results.document()
  const warnings = [...document.warnings, 'All files already exist; nothing was sent.']
  return { kind: 'ended', document: { ...document, warnings } }
}

/** An error about input that was valid when it was checked, and has changed since, is no mistake in the call. */
function afterSending(error: ModelgateError, hasReplied: boolean): ModelgateError {
  const { exit, facts } = error
  // A limit that cannot be checked is no input, and nothing was sent.
  if (facts.phase === 'config') return error
  if (exit === 'usage' && !hasReplied) return error.amend({ exit: 'io', phase: 'send' })
  const isBillingUnknown = exit === 'io' && facts.billed === undefined
  if (exit !== 'usage' && !(isBillingUnknown && hasReplied)) return error
  return error.amend({ exit: 'io', phase: 'output', billed: 'yes' })
}

/** Writes a record beside each image. One that cannot be written is a warning: the image has been saved. */
async function writeSidecars(
  { context, redactor }: Call,
  results: ImageResults,
  inputs: readonly InputDigest[],
  { force = false }: ImagePlan,
): Promise<void> {
  const { requestId: request_id = null, usage, request } = results
  const { command, model, prompt, body } = request
  const { prompt: _, model: __, ...parameters } = body
  const clean = (json: string) => redactor.document(json)
  for (const { revised_prompt, existing, ...output } of results.document().files) {
    if (existing) continue
    const asked = { command, model, prompt, revised_prompt, parameters }
    const record = { ...asked, request_id, usage, inputs, output }
    await writeSidecar(context, record, { force, clean }).catch((error: unknown) => {
      if (!(error instanceof ModelgateError)) throw error
      results.warn(`The record of ${output.path} is not kept: ${error.message}`)
    })
  }
}

/** Downloads all results at once, since their URLs expire soon. @throws ModelgateError when none was saved */
async function downloadImages(
  gateway: Gateway,
  results: ImageResults,
  { openImage }: ImageWriters,
  { allowPrivateUrls: allowPrivate = false }: ImagePlan,
  expiresAt = Infinity,
): Promise<void> {
  const failures = new Map<number, ModelgateError>()
  for (const image of results.remote) {
    const { index, url } = image
    const writer = openImage(index)
    try {
      await writer.commit(await download(gateway, url, writer, { allowPrivate }))
    } catch (error) {
      if (gateway.signal.aborted) {
        await writer.discard()
        throw interrupted(error, results)
      }
      results.addLink(image, false)
      failures.set(index, downloadError(gateway, image, await keepDamaged(writer, error), expiresAt))
    }
    results.reportFiles(index)
  }
  const [first] = failures.values()
  // Nothing was saved: then the first failure is that of the operation.
  if (first !== undefined && results.saved.size === 0) {
    throw first.exit === 'running' ? first.amend(fetchLater(results.next, first.facts.hint)) : first
  }
  for (const [index, error] of failures) results.fail(index, error)
}

/** Adds to an interrupt how the images that it leaves are fetched: they have been paid for. */
function interrupted(error: unknown, results: ImageResults): unknown {
  const { remote, saved, links } = results
  const left = remote.filter(({ index }) => !saved.has(index))
  for (const image of left) {
    if (!links.some(({ index }) => index === image.index)) results.addLink(image, false)
  }
  if (!(error instanceof Interrupted) || (left.length === 0 && saved.size === 0)) return error
  const way = left.length === 0 ? {} : fetchLater(results.next)
  return error.amend({ phase: error.facts.phase ?? 'result', billed: 'yes', ...way })
}

/** A hint to run the command again would generate, and bill, another image. */
function downloadError({ trace, clock }: Gateway, { url }: RemoteImage, error: unknown, expiresAt: number) {
  const known = asModelgateError(error, trace !== undefined)
  if (known.exit === 'bug') return known
  const hint = hintApplies(known) ? undefined : null
  // What came in the reply itself cannot be asked for again.
  if (url.startsWith('data:')) return known.amend({ phase: 'result', billed: 'yes', hint })
  return notFetched(known, clock.now() / 1000 >= expiresAt).amend({ hint })
}

function fetchLater(next: NextCommand | undefined, hint?: string | null) {
  return next === undefined ? {} : leadTo(`${hint ? `${hint} ` : ''}To fetch it, free: `, next)
}

/** Puts images at addresses on record before they are fetched, under an id of this machine. */
export async function recordImages(
  call: Call,
  request: ImageRequest,
  plan: RecordPlan,
  all: MadeImages,
  idempotencyKey: string,
) {
  // What came in the reply itself cannot be asked for again.
  const made = { ...all, images: all.images.filter(({ url }) => !url.startsWith('data:')) }
  if (made.images.length === 0) return undefined
  const { model, expires_at, request_id } = made
  const asked = { ...request, kind: 'image', model, idempotencyKey } as const
  const warn = (reason: string) => {
    const addresses = made.images.map(({ url }) => url).join(' ')
    const message = `The images are not on record: ${reason} They have been made: ${addresses}`
    call.listener.event({ type: 'warning-add', message })
  }
  const id = `image_${randomBytes(5).toString('hex')}`
  return await recordJob(call, plan, asked, warn, { id, state: 'completed', expires_at, request_id, made })
}

/** Keeps on record what is left to fetch, and forgets the rest. Best effort: the images are as safe as before. */
export async function settleImages(store: JobStore, stored: StoredJob, outcome: Outcome<ImageDocument>) {
  const { document } = outcome
  const error = outcome.kind === 'failed' ? outcome.error : outcome.failure
  const left = new Set(document?.links.map(({ index }) => index))
  // It ended before anything was fetched: all of it is left.
  if (error !== undefined && left.size === 0 && !document?.files.length) return
  const { made } = stored.record
  if (made === undefined || left.size === 0) return await store.forget([stored])
  const isLost = error?.code === 'result_expired'
  const images = made.images.filter(({ index }) => left.has(index))
  const change = isLost
    ? ({ state: 'failed', error: { code: error.code, message: error.message } } as const)
    : {}
  await stored.update({ ...change, made: { ...made, images } }).catch((thrown: unknown) => {
    if (!(thrown instanceof ModelgateError)) throw thrown
  })
}
