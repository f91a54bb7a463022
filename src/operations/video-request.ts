import { lastSegment } from '../contract/videos.ts'
import { maxPlannedNames } from '../files/output-plan.ts'
import type { FileContext } from '../context.ts'
import type { Creation } from '../cost/creation.ts'
import { ModelgateError, UsageError } from '../errors.ts'
import type { JobKind } from '../events/video.ts'
import { readInputFile } from '../files/input-file.ts'
import { mediaTypeOfName, sniffMediaType } from '../files/media-type.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { bareModel, idempotencyKeyOf } from '../gateway/url.ts'
import { operationRequest, remixRequest, type Job } from '../gateway/videos/job-requests.ts'
import { objectOf, objectsOf, stringOf, type JsonObject } from '../json.ts'
import type { Body } from './operation.ts'

export interface VideoRequest {
  readonly command: 'video generate' | 'video remix'
  readonly kind: JobKind
  readonly model: string
  readonly body: Body
  readonly prompt: string
  readonly count: number
  readonly creation: Creation
  readonly warnings: readonly string[]
}

export function videoRequest(
  { kind, model, body }: Pick<VideoRequest, 'kind' | 'model' | 'body'>,
  prompt = promptOf(body),
  warnings: readonly string[] = [],
): VideoRequest {
  const isRemix = kind === 'video'
  const command = isRemix ? 'video remix' : 'video generate'
  const parts = { model: isRemix ? model : bareModel(model), body, count: isRemix ? 1 : videoCount(body) }
  return { ...parts, command, kind, prompt, warnings, creation: videoCreation(parts) }
}

function promptOf(body: Body): string {
  const prompt = body['prompt'] ?? objectsOf(body['instances'])[0]?.['prompt']
  return typeof prompt === 'string' ? prompt : ''
}

/** How many videos a body requests; an unvalidated body may contain any value. */
export function videoCount(request: unknown): number {
  const body = objectOf(request)
  const samples = objectOf(body['parameters'])['sampleCount']
  const each = typeof samples === 'number' && samples >= 1 ? Math.floor(samples) : 1
  return Math.max(1, Math.min(each * objectsOf(body['instances']).length, maxPlannedNames))
}

/** The HTTP request, with its idempotency key. @param source the video that a remix starts from @throws UsageError */
export function videoGatewayRequest(gateway: Gateway, request: VideoRequest, source?: Job) {
  const { model, body, creation } = request
  const keyed = { body, creation, idempotencyKey: idempotencyKeyOf(gateway) }
  if (source === undefined) return operationRequest(gateway, model, keyed)
  return remixRequest(gateway, source.kind === 'video' ? source.id : lastSegment(source.id), keyed)
}

export function videoCreation(request: Pick<VideoRequest, 'model' | 'body' | 'count'>): Creation {
  const { model, body, count } = request
  const { resolution, size, durationSeconds, seconds } = { ...body, ...objectOf(body['parameters']) } as Body
  const time = Number(durationSeconds ?? seconds ?? Number.NaN)
  return {
    model: model === '' ? null : model,
    count,
    of: 'video',
    variant: { size: stringOf(resolution ?? size) ?? null, quality: null },
    seconds: time > 0 && Number.isFinite(time) ? time : null,
  }
}

export type InstanceMedia = Partial<Record<'image' | 'lastFrame' | 'referenceImages' | 'video', unknown>>

/** The address of media in cloud storage (`gs:`), which only the gateway can read; undefined for any other name. */
export function storedMedia(name: string): JsonObject | undefined {
  if (!/^gs:\/\//i.test(name)) return undefined
  const mimeType = mediaTypeOfName(name)
  return { gcsUri: name, ...(mimeType === undefined ? {} : { mimeType }) }
}

/** @param label identifies it in messages: a flag, a field @param picture the path of a file, or its content */
export async function readPicture(
  context: FileContext,
  label: string,
  picture: string | Uint8Array,
): Promise<JsonObject> {
  const { base64, mimeType } = await readMedia(context, label, picture, 'image')
  return { bytesBase64Encoded: base64, mimeType }
}

/** Reads a video to extend. The URL of one is passed on: the gateway takes only what it has made itself. */
export async function readVideo(context: FileContext, label: string, path: string): Promise<JsonObject> {
  if (/^https?:\/\//i.test(path)) return { uri: path }
  const stored = storedMedia(path)
  if (stored !== undefined) return stored
  const { base64, mimeType } = await readMedia(context, label, path, 'video')
  return { encodedVideo: base64, encoding: mimeType }
}

async function readMedia(
  context: FileContext,
  label: string,
  media: string | Uint8Array,
  kind: 'image' | 'video',
) {
  const bytes = typeof media === 'string' ? await readInputFile(context, media) : media
  if (bytes instanceof ModelgateError) throw bytes.amend({ message: `${label}: ${bytes.message}` })
  const mimeType = sniffMediaType(bytes.subarray(0, 4096))
  if (mimeType?.startsWith(`${kind}/`)) return { base64: Buffer.from(bytes).toString('base64'), mimeType }
  const name = typeof media === 'string' ? `${label} ${JSON.stringify(media)}` : label
  const actual = mimeType === undefined ? '' : ` but ${mimeType}`
  const noun = kind === 'image' ? 'picture' : 'video'
  throw new UsageError(`${name} is not a ${noun}${actual}.`, { code: 'wrong_type' })
}

/** Adds prompt and media, as a new instance or to those of the body that lack them. @throws UsageError if ambiguous */
export function addInstance(body: Body, prompt: string | undefined, media: InstanceMedia): void {
  if (body['instances'] === undefined) {
    body['instances'] = [{ ...(prompt === undefined ? {} : { prompt }), ...media }]
    return
  }
  // The contract check reports those that are no objects.
  const instances = objectsOf(body['instances']) as Body[]
  const withoutPrompt = instances.filter((instance) => instance['prompt'] === undefined)
  if (prompt !== undefined && withoutPrompt.length === 0) {
    throw new UsageError('All of the --instances have prompts of their own: leave out the separate one.')
  }
  if (Object.keys(media).length > 0 && instances.length !== 1) {
    throw new UsageError(
      '--image, --last-frame, --reference and --video go with one instance: put them into the --instances.',
    )
  }
  for (const instance of withoutPrompt) if (prompt !== undefined) instance['prompt'] = prompt
  for (const instance of instances) Object.assign(instance, media)
}
