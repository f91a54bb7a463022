import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { FileContext } from '../context.ts'
import { subjectOf, type Endpoint } from '../contract/field.ts'
import { imageCreateEndpoint, imageEditEndpoint } from '../contract/images.ts'
import type { Model } from '../contract/known-models.ts'
import type { Creation } from '../cost/creation.ts'
import { FileError, ModelgateError, UsageError, type ErrorCode } from '../errors.ts'
import type { SavedImage } from '../events/image.ts'
import { imageKind } from '../files/image-info.ts'
import { describeInputFile } from '../files/input-file.ts'
import type { MadeImages } from '../files/calls/job-record.ts'
import { inspectAnyFile } from '../files/inspect-file.ts'
import { savedAs } from '../files/media-file.ts'
import type { NextCommand } from '../files/next-command.ts'
import { maxPlannedNames, planOutputs, promisedMediaType, type OutputPlan } from '../files/output-plan.ts'
import type { RequestBody } from '../gateway/exchange.ts'
import type { Gateway, GatewayRequest } from '../gateway/gateway.ts'
import { multipartBody } from '../gateway/multipart.ts'
import { jsonBody } from '../gateway/send-request.ts'
import { endpointUrl, idempotencyKeyOf } from '../gateway/url.ts'
import { stringOf } from '../json.ts'
import type { ProblemList } from '../problems.ts'
import type { ImageSource } from './image-sources.ts'
import type { Body } from './operation.ts'

export interface ImageRequest {
  readonly command: 'image create' | 'image edit'
  /** The requested model; null when the gateway chooses. */
  readonly model: string | null
  readonly body: Body
  readonly prompt: string
  /** The images of an edit, then its mask. */
  readonly sources: readonly ImageSource[]
  readonly streamed: boolean
  readonly outputs: OutputPlan
  /** The numbers of the images to generate, from 1: with `skipExisting` only those that do not exist. */
  readonly wanted: readonly number[]
  /** Those that exist already, by their numbers from 1 (`skipExisting`). */
  readonly existing: readonly { readonly index: number; readonly file: SavedImage }[]
  readonly creation: Creation
  readonly warnings: readonly string[]
}

export interface ImagePlan {
  /** A name, a folder, a template, or `-` for standard output. */
  readonly output?: string | null | undefined
  /** The folder for files that `output` does not name. */
  readonly folder?: string | null | undefined
  readonly force?: boolean
  readonly skipExisting?: boolean
  /** Whether images are saved; otherwise their URLs are reported. */
  readonly download: boolean
  readonly savePartials?: boolean
  readonly sidecar?: boolean
  /** Whether an image that is not verified, or of another type than its name says, is a failure. */
  readonly strict?: boolean
  readonly acceptMismatch?: boolean
  readonly allowPrivateUrls?: boolean
  /** Called with the addresses of results before anything is fetched. @returns the command that fetches them later */
  readonly onMade?: (made: MadeImages, idempotencyKey: string) => Promise<NextCommand | undefined | void>
  /** Takes the reply unchanged, in place of its images (`--raw`): nothing is saved. */
  readonly relay?: { write(chunk: Uint8Array): Promise<void>; commit(): Promise<void> } | undefined
}

/** A request of a validated body. Checks its output files, and adds their problems to the list. */
export async function imageRequest(
  context: FileContext,
  parts: Pick<ImageRequest, 'command' | 'model' | 'body' | 'sources' | 'warnings'>,
  plan: ImagePlan,
  { add, check }: ProblemList,
): Promise<ImageRequest> {
  const { body, model } = parts
  const prompt = stringOf(body['prompt']) ?? ''
  const count = countOf(body)
  const outputs = planOutputs(context, {
    output: plan.output,
    folder: plan.folder,
    count,
    force: plan.force === true || plan.skipExisting === true,
    model: model ?? '',
    prompt,
    now: context.clock.now(),
  })
  // The actual one depends on the bytes that come.
  const format = stringOf(body['output_format']) ?? 'png'
  const extension = format === 'jpeg' ? 'jpg' : format
  const wanted: number[] = []
  const existing: ImageRequest['existing'][number][] = []
  for (let index = 1; index <= count; index++) {
    const path = outputs.pathFor({ index, extension })
    if (plan.skipExisting && existsSync(resolve(context.cwd, path))) {
      await check(async () => void existing.push({ index, file: await readExisting(context, path) }))
    } else wanted.push(index)
  }
  if (plan.skipExisting && plan.output?.includes('{id}')) {
    const problem = '--skip-existing cannot predict names with {id}, which is known only from the reply.'
    add(new UsageError(problem, { code: 'invalid_request' }))
  }
  if (plan.download && wanted.length > 0 && existing.length + wanted.length === count) {
    const expected = { extension, sidecar: plan.sidecar === true, partials: plan.savePartials === true }
    for (const problem of await outputs.check(expected)) add(problem)
  }
  const isLess = wanted.length < count
  return {
    ...parts,
    body: isLess ? { ...body, n: Math.max(1, wanted.length) } : body,
    prompt,
    streamed: body['stream'] === true,
    outputs,
    wanted,
    existing,
    creation: imageCreation(model, body, wanted.length),
  }
}

/** Makes `-o NAME.webp` ask for a WebP, where the family takes that or the gateway chooses the model. @throws UsageError */
export function askForNamedFormat(
  context: FileContext,
  { output, validate }: { readonly output?: string | undefined; readonly validate: boolean },
  endpoint: Endpoint,
  body: Body,
  model: Model | undefined,
): void {
  const promised = output === undefined ? undefined : promisedMediaType(context, output)
  if (promised === undefined) return
  const refusal = (problem: string) =>
    new UsageError(`-o ${JSON.stringify(output)} names ${promised}${problem}`, {
      code: 'invalid_request',
      hint: 'Change the extension; with {ext} in its place the name gets that of the image.',
    })
  const mediaType = (format: unknown) => `image/${String(format)}`
  const given = body['output_format'] ?? undefined
  if (given !== undefined) {
    if (mediaType(given) === promised || !validate) return
    throw refusal(`, but --output-format asks for ${String(given)}.`)
  }
  const { known = [], default: usual } = endpoint.fields['output_format']!
  if (model === undefined) {
    // The gateway chooses a model for the fields that are there.
    const format = known.find((value) => mediaType(value) === promised && value !== usual)
    if (format !== undefined) body['output_format'] = format
    return
  }
  const limits = model.family?.endpoints[endpoint.name!]?.['output_format']
  if (limits === undefined) return
  const taken = limits === false ? [] : (limits.values ?? [])
  const format = taken.find((value) => mediaType(value) === promised)
  if (format !== undefined) body['output_format'] = format
  const delivered = (taken.length > 0 ? taken : [usual]).map(mediaType)
  if (!validate || delivered.includes(promised)) return
  throw refusal(`; ${subjectOf(model)} delivers only ${delivered.join(', ')}.`)
}

/** An unvalidated body may contain any value here. */
function countOf({ n }: Body): number {
  return typeof n === 'number' && n >= 1 ? Math.min(Math.floor(n), maxPlannedNames) : 1
}

/** Refuses an incomplete image: generating it would overwrite the file, skipping it would report success. */
async function readExisting(context: FileContext, path: string): Promise<SavedImage> {
  const problem = (code: ErrorCode, message: string) =>
    new FileError(code, message, {
      phase: 'input',
      hint: '--skip-existing takes it for an image that was made. Remove it, or choose another name.',
    })
  const input = await describeInputFile(context, path, { maxBytes: Infinity, pipes: false })
  if (input instanceof ModelgateError) throw problem(input.code, input.message)
  const found = await inspectAnyFile(context, path)
  const file = savedAs(imageKind, found)
  if (file !== undefined) return { ...file, revised_prompt: null, existing: true }
  const { damage } = found.integrity
  const what = damage === undefined ? 'is not an image' : `is damaged: ${damage}`
  throw problem('damaged_media', `${JSON.stringify(path)} ${what}.`)
}

/** A part of a form, in readable form. */
export type ImagePart = ReturnType<typeof form>['parts'][number]

/** Smaller uploads need no progress. */
const progressFromBytes = 1_000_000

/** JSON for a creation; multipart for an edit, with a readable form of its parts. */
export function imageGatewayRequest(
  gateway: Gateway,
  request: ImageRequest,
  onProgress?: (sent: number, total: number) => void,
) {
  const { body, contentType, path, parts } =
    request.command === 'image edit'
      ? { ...form(request), path: imageEditEndpoint.path }
      : { body: jsonBody(request.body), contentType: 'application/json', path: imageCreateEndpoint.path }
  const reports = onProgress !== undefined && body.length >= progressFromBytes
  const wire = {
    method: 'POST',
    url: endpointUrl(gateway, path),
    kind: 'create',
    creation: request.creation,
    accept: request.streamed ? 'text/event-stream' : 'application/json',
    contentType,
    idempotencyKey: idempotencyKeyOf(gateway),
    body: reports ? withProgress(body, onProgress) : body,
  } satisfies GatewayRequest
  return { ...wire, parts }
}

export function imageCreation(model: string | null, body: Body, count: number): Creation {
  const variant = { size: askedFor(body['size']), quality: askedFor(body['quality']) }
  return { model, count, of: 'image', variant }
}

/** With `auto` the model chooses. */
function askedFor(word: unknown): string | null {
  return typeof word === 'string' && word !== 'auto' ? word : null
}

function form({ body, sources }: ImageRequest) {
  // One picture is `image`, several are `image[]` (wire notes, "Images").
  const isSeveral = sources.filter(({ field }) => field === 'image').length > 1
  const all = sources.map((source) => ({
    ...source,
    name: source.field === 'image' && isSeveral ? 'image[]' : source.field,
  }))
  const fields = Object.entries(body)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => ({
      name,
      value: typeof value === 'object' ? JSON.stringify(value) : String(value),
    }))
  const files = all.flatMap(({ name, fileName, mediaType, bytes, open, isAddress }) =>
    isAddress ? [] : [{ name, fileName, mediaType, size: bytes, open }],
  )
  const shown = all.map(({ name, label, isAddress, fileName, mediaType, bytes }) =>
    isAddress
      ? { name, value: label }
      : { name, path: label, file_name: fileName, media_type: mediaType, bytes },
  )
  return { ...multipartBody([...fields, ...files]), parts: [...fields, ...shown] }
}

function withProgress(body: RequestBody, report: (sent: number, total: number) => void): RequestBody {
  return {
    length: body.length,
    async *chunks() {
      let sent = 0
      for await (const chunk of body.chunks()) {
        yield chunk
        sent += chunk.length
        report(sent, body.length)
      }
    },
  }
}
