import { yieldToEventLoop } from '../../context.ts'
import { encodeJpeg, encodePng, encodeWebp, type Pixels } from '../../files/codecs.ts'
import { brokenOff } from '../faults/change-reply.ts'
import { errorBody, RequestProblem } from '../http/request-problem.ts'
import { eventHeaders, jsonReply, namedEvent, streamReply, type Frame, type Reply } from '../http/reply.ts'
import { seededHex } from '../seeded-random.ts'
import { takes, type ImageFormat, type ImageParameters } from './parameters.ts'
import { type Size, hasTransparency, onWhite, unfinished } from './pixels.ts'

/** An accepted request of either image endpoint. */
interface ImageJob {
  readonly parameters: ImageParameters
  /** Prefix of its event names: `image_generation.completed`. */
  readonly eventPrefix: 'image_generation' | 'image_edit'
  readonly id: string
  /** Seconds since 1970. */
  readonly createdAt: number
  readonly size: Size
  /** Images to generate: in some scenarios fewer than requested. */
  readonly count: number
  /** Usage once so many images have been generated; undefined for models that report none. */
  readonly usageOf: (images: number) => object | undefined
  readonly painter: Painter
  /** Aborted when the client no longer waits for the images. */
  readonly signal: AbortSignal
  /** Stores an image and returns its URL. */
  readonly keep: (id: string, picture: EncodedPicture) => string
}

/** The properties of a picture in replies and final events; none with legacy models. */
function imageProperties({ parameters, size }: ImageJob, background: string): object {
  const { family, format, quality } = parameters
  if (family !== undefined && !takes(family, 'output_format')) return {}
  return { background, output_format: format, quality, size: `${size.width}x${size.height}` }
}

const brokeOff = new RequestProblem(500, '[sandbox] Generation broke off.')

/** The event that ends a stream whose generation broke off (wire notes, relay quirk 17). */
const errorEvent = namedEvent(
  'error',
  { type: 'error', ...errorBody('openai', brokeOff) },
  'token',
  'terminal',
)

/**
 * The reply to a valid request: base64, URLs, or events.
 * @throws RequestProblem in scenarios that reject the request
 */
export async function replyWithImages(job: ImageJob): Promise<Reply> {
  const { scenario, streams } = job.parameters
  if (scenario === 'failure' || (scenario === 'error' && !streams)) throw brokeOff
  const headers = { 'x-request-id': `req_${seededHex(32, job.id)}` }
  if (!streams) return jsonReply(await imageList(job), { headers, creates: true, pause: 'first' })
  const breakOff = () => [errorEvent]
  const frames = imageEvents(job)
  return streamReply(scenario === 'error' ? brokenOff(frames, 2, breakOff) : frames, {
    headers: { ...eventHeaders, ...headers },
    breakOff,
  })
}

/** The number of images that a scenario generates. */
export function countOf({ scenario, count }: ImageParameters): number {
  if (scenario === 'empty') return 0
  return scenario === 'fewer' ? count - 1 : count
}

async function imageList(job: ImageJob): Promise<object> {
  const { parameters, createdAt, usageOf, count, painter, signal } = job
  const usage = usageOf(count)
  const { isUrl, isVivid, prompt, family } = parameters
  // Of the families of the specification only model C, which alone has a style.
  const revises = typeof family?.endpoints['image create']?.['style'] === 'object'
  const revised = `[sandbox] In ${isVivid ? 'vivid' : 'natural'} colours: ${prompt}`
  const data: object[] = []
  let background = 'opaque'
  // The client has disconnected, but the request was accepted.
  for (let index = 0; index < count && !signal.aborted; index++) {
    const encoded = await painter(index)
    background = encoded.background
    data.push({
      ...(isUrl ? { url: job.keep(seededHex(32, job.id, index), encoded) } : { b64_json: base64Of(encoded) }),
      ...(revises && { revised_prompt: revised }),
    })
  }
  return { created: createdAt, data, ...imageProperties(job, background), ...(usage && { usage }) }
}

function base64Of({ bytes }: EncodedPicture): string {
  return Buffer.from(bytes).toString('base64')
}

/**
 * The events of a stream: for every image its partial images, of which each shows more, then the final one. Each is created
 * while the previous ones are sent. As with the public service, there is no `[DONE]` at the end.
 */
async function* imageEvents(job: ImageJob): AsyncGenerator<Frame> {
  const { painter } = job
  for (let index = 0; index < job.count; index++) {
    const isLast = index === job.count - 1
    const isEarly = job.parameters.scenario === 'early'
    if (isEarly) yield completed(job, await painter(index), index)
    const { partials } = job.parameters
    for (let partial = 0; partial < partials; partial++) {
      const begun = await painter(index, (partial + 1) / (partials + 1))
      const role = isEarly && isLast ? 'closing' : 'event'
      yield event(job, 'partial_image', begun, { partial_image_index: partial }, role)
    }
    if (!isEarly) yield completed(job, await painter(index), index)
  }
}

/** Usage is that of the request so far: in the last event that of all images. */
function completed(job: ImageJob, encoded: EncodedPicture, index: number): Frame {
  const role = index === job.count - 1 ? 'terminal' : 'event'
  return event(job, 'completed', encoded, { usage: job.usageOf(index + 1) }, role)
}

function event(
  job: ImageJob,
  name: 'partial_image' | 'completed',
  encoded: EncodedPicture,
  more: object,
  role: Frame['role'],
): Frame {
  const type = `${job.eventPrefix}.${name}`
  const properties = imageProperties(job, encoded.background)
  const data = { type, b64_json: base64Of(encoded), created_at: job.createdAt, ...properties, ...more }
  return namedEvent(type, data, 'first', role)
}

/** A picture in the requested format. */
export interface EncodedPicture {
  readonly bytes: Uint8Array
  readonly format: ImageFormat
  readonly background: 'transparent' | 'opaque'
}

/** Creates a picture by its number, from 0: a share of it for a partial image, or all. */
type Painter = (index: number, share?: number) => Promise<EncodedPicture>

/**
 * Draws one picture at a time, yielding to other requests before each.
 * @param draw draws the same picture every time
 */
export function createPainter(parameters: ImageParameters, draw: (index: number) => Pixels): Painter {
  return async (index, share) => {
    await yieldToEventLoop()
    const picture = draw(index)
    await yieldToEventLoop()
    return encode(share === undefined ? picture : unfinished(picture, share), parameters)
  }
}

async function encode(picture: Pixels, parameters: ImageParameters): Promise<EncodedPicture> {
  const { format, encoderQuality, background } = parameters
  const visible = format === 'jpeg' || background === 'opaque' ? onWhite(picture) : picture
  const bytes = await encoders[format](visible, encoderQuality)
  return { bytes, format, background: hasTransparency(visible) ? 'transparent' : 'opaque' }
}

const encoders: Readonly<Record<ImageFormat, (picture: Pixels, quality: number) => Promise<Uint8Array>>> = {
  png: encodePng,
  jpeg: encodeJpeg,
  webp: encodeWebp,
}
