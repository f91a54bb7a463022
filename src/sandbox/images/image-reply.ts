import { yieldToEventLoop } from '../../context.ts'
import { encodeJpeg, encodePng, encodeWebp, type Pixels } from '../../files/codecs.ts'
import { brokenOff } from '../faults/actions.ts'
import { errorBody, RequestProblem } from '../http/request-problem.ts'
import { eventHeaders, jsonReply, namedEvent, streamReply, type Frame, type Reply } from '../http/reply.ts'
import { seededHex } from '../seeded-random.ts'
import type { Exchange } from '../sandbox.ts'
import type { EncodedPicture, ImageFormat } from './image-store.ts'
import { takes, usageOf, type ImageParameters, type ImageTask } from './parameters.ts'
import { hasTransparency, onWhite, unfinished } from './pixels.ts'

interface ImageJob extends ImageTask {
  readonly id: string
  /** Seconds since 1970. */
  readonly createdAt: number
  /** Images to generate: in some scenarios fewer than requested. */
  readonly count: number
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
export async function replyWithImages(task: ImageTask, exchange: Exchange): Promise<Reply> {
  const { number, origin, sandbox } = exchange
  const { seed, clock, images } = sandbox
  const { parameters, eventPrefix } = task
  const { scenario, streams } = parameters
  if (scenario === 'failure' || (scenario === 'error' && !streams)) throw brokeOff
  const job = {
    ...task,
    id: `${eventPrefix === 'image_edit' ? 'edit' : 'img'}_${seed}_${number}`,
    createdAt: Math.floor(clock.now() / 1000),
    count: countOf(parameters),
  }
  const headers = { 'x-request-id': `req_${seededHex(32, job.id)}` }
  if (!streams) {
    const keep = (index: number, picture: EncodedPicture) =>
      origin + images.keep(seededHex(32, job.id, index), picture)
    return jsonReply(await imageList(job, exchange, keep), { headers, creates: true, pause: 'first' })
  }
  const breakOff = () => [errorEvent]
  const frames = imageEvents(job)
  return streamReply(scenario === 'error' ? brokenOff(frames, 2, breakOff) : frames, {
    headers: { ...eventHeaders, ...headers },
    breakOff,
  })
}

/** The number of images that a scenario generates. */
function countOf({ scenario, count }: ImageParameters): number {
  if (scenario === 'empty') return 0
  return scenario === 'fewer' ? count - 1 : count
}

async function imageList(
  job: ImageJob,
  exchange: Exchange,
  keep: (index: number, picture: EncodedPicture) => string,
): Promise<object> {
  const { parameters, createdAt, count } = job
  const usage = usageOf(job, count)
  const { isUrl, isVivid, prompt, family } = parameters
  // Of the families of the specification only model C, which alone has a style.
  const revises = typeof family?.endpoints['image create']?.['style'] === 'object'
  const revised = `[sandbox] In ${isVivid ? 'vivid' : 'natural'} colours: ${prompt}`
  const data: object[] = []
  let background = 'opaque'
  const signal = exchange.outlivesClient ? exchange.sandbox.signal : exchange.signal
  // The client has disconnected, but the request was accepted.
  for (let index = 0; index < count && !signal.aborted; index++) {
    const encoded = await paint(job, index)
    background = encoded.background
    data.push({
      ...(isUrl ? { url: keep(index, encoded) } : { b64_json: base64Of(encoded) }),
      ...(revises && { revised_prompt: revised }),
    })
  }
  return { created: createdAt, data, ...imageProperties(job, background), ...(usage && { usage }) }
}

export function base64Of({ bytes }: EncodedPicture): string {
  return Buffer.from(bytes).toString('base64')
}

/**
 * The events of a stream: for every image its partial images, of which each shows more, then the final one. Each is
 * created while the previous ones are sent. As with the public service, there is no `[DONE]` at the end.
 */
async function* imageEvents(job: ImageJob): AsyncGenerator<Frame> {
  for (let index = 0; index < job.count; index++) {
    const isLast = index === job.count - 1
    const isEarly = job.parameters.scenario === 'early'
    if (isEarly) yield completed(job, await paint(job, index), index)
    for (let partial = 0; partial < job.parameters.partials; partial++) {
      const begun = await paint(job, index, partial)
      const role = isEarly && isLast ? 'closing' : 'event'
      yield event(job, 'partial_image', begun, { partial_image_index: partial }, role)
    }
    if (!isEarly) yield completed(job, await paint(job, index), index)
  }
}

/** Usage is that of the request so far: in the last event that of all images. */
function completed(job: ImageJob, encoded: EncodedPicture, index: number): Frame {
  const role = index === job.count - 1 ? 'terminal' : 'event'
  return event(job, 'completed', encoded, { usage: usageOf(job, index + 1) }, role)
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

/**
 * Creates a picture by its number, from 0, and yields to other requests on the way.
 * @param partial the number of a partial image, from 0
 */
export async function paint(
  { parameters, draw }: Pick<ImageTask, 'parameters' | 'draw'>,
  index: number,
  partial?: number,
): Promise<EncodedPicture> {
  const { format, encoderQuality, background, partials } = parameters
  await yieldToEventLoop()
  const whole = draw(index)
  await yieldToEventLoop()
  const picture = partial === undefined ? whole : unfinished(whole, (partial + 1) / (partials + 1))
  const visible = format === 'jpeg' || background === 'opaque' ? onWhite(picture) : picture
  const bytes = await encoders[format](visible, encoderQuality)
  return { bytes, format, background: hasTransparency(visible) ? 'transparent' : 'opaque' }
}

const encoders: Readonly<Record<ImageFormat, (picture: Pixels, quality: number) => Promise<Uint8Array>>> = {
  png: encodePng,
  jpeg: encodeJpeg,
  webp: encodeWebp,
}
