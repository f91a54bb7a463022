import { yieldToEventLoop } from '../../context.ts'
import { urlLifetimeMinutes } from '../../contract/images.ts'
import { encodeJpeg, encodePng, encodeWebp, type Pixels } from '../../files/codecs.ts'
import { errorBody, RequestProblem } from '../http/request-problem.ts'
import {
  brokenOff,
  eventHeaders,
  jsonReply,
  namedEvent,
  streamReply,
  type Frame,
  type Reply,
} from '../http/reply.ts'
import { seededHex } from '../seeded-random.ts'
import type { EncodedPicture, Exchange, ImageFormat, Sandbox } from '../sandbox.ts'
import { takes, usageOf, type ImageRequest } from './image-request.ts'
import { hasTransparency, onWhite, unfinished, type Size } from './pixels.ts'

/** What is made for a request. */
interface ImageJob {
  readonly request: ImageRequest
  /** Draws a picture by its number, from 0: the same one every time. */
  readonly draw: (index: number) => Pixels
  /** Prefix of its event names: `image_generation.completed`. */
  readonly eventPrefix: 'image_generation' | 'image_edit'
  /** The images that are edited. */
  readonly sources?: readonly Size[]
  readonly isHighFidelity?: boolean
}

/** The properties of a picture in replies and final events; none with legacy models. */
function imageProperties({ family, format, quality, size }: ImageRequest, background: string): object {
  if (family !== undefined && !takes(family, 'output_format')) return {}
  return { background, output_format: format, quality, size: `${size.width}x${size.height}` }
}

function usageAfter({ request, sources = [], isHighFidelity = false }: ImageJob, images: number) {
  return usageOf(request, sources, isHighFidelity, images)
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
export async function replyWithImages(job: ImageJob, exchange: Exchange): Promise<Reply> {
  const { number, sandbox } = exchange
  const { scenario, streams, count: asked } = job.request
  if (scenario === 'failure' || (scenario === 'error' && !streams)) throw brokeOff
  const id = `${job.eventPrefix === 'image_edit' ? 'edit' : 'img'}_${sandbox.seed}_${number}`
  const created = Math.floor(sandbox.clock.now() / 1000)
  const count = scenario === 'empty' ? 0 : scenario === 'fewer' ? asked - 1 : asked
  const headers = { 'x-request-id': `req_${seededHex(32, id)}` }
  if (!streams) {
    const list = { created, ...(await imageList(job, count, id, exchange)) }
    return jsonReply(list, { headers, creates: true, pause: 'first' })
  }
  const breakOff = () => [errorEvent]
  const frames = imageEvents(job, count, created)
  return streamReply(scenario === 'error' ? brokenOff(frames, 2, breakOff) : frames, {
    headers: { ...eventHeaders, ...headers },
    breakOff,
  })
}

async function imageList(job: ImageJob, count: number, id: string, exchange: Exchange): Promise<object> {
  const { isUrl, isVivid, prompt, family } = job.request
  const { sandbox, origin } = exchange
  // Of the families of the specification only model C, which alone has a style.
  const revises = typeof family?.endpoints['image create']?.['style'] === 'object'
  const revised = `[sandbox] In ${isVivid ? 'vivid' : 'natural'} colours: ${prompt}`
  const data: object[] = []
  let background = 'opaque'
  const signal = exchange.outlivesClient ? sandbox.signal : exchange.signal
  // The client has disconnected, but the request was accepted.
  for (let index = 0; index < count && !signal.aborted; index++) {
    const encoded = await paint(job, index)
    background = encoded.background
    data.push({
      ...(isUrl
        ? { url: origin + keptPath(sandbox, seededHex(32, id, index), encoded) }
        : { b64_json: base64Of(encoded) }),
      ...(revises && { revised_prompt: revised }),
    })
  }
  const usage = usageAfter(job, count)
  return { data, ...imageProperties(job.request, background), ...(usage && { usage }) }
}

/** Keeps a picture, and returns the path and query of its URL. */
function keptPath(sandbox: Sandbox, id: string, picture: EncodedPicture): string {
  const file = `${id}.${picture.format.replace('jpeg', 'jpg')}`
  sandbox.images.set(file, picture, picture.bytes.length)
  const se = new Date(sandbox.clock.now() + urlLifetimeMinutes * 60_000).toISOString()
  return `/sandbox/images/${file}?${new URLSearchParams({ se, sig: signatureOf(sandbox, file, se) })}`
}

/** The signature of a picture's URL until its expiry. */
export function signatureOf({ seed }: Sandbox, file: string, expiry: string): string {
  return seededHex(32, seed, 'address', file, expiry)
}

export function base64Of({ bytes }: EncodedPicture): string {
  return Buffer.from(bytes).toString('base64')
}

/**
 * The events of a stream: for every image its partial images, of which each shows more, then the final one. Each is
 * created while the previous ones are sent. As with the public service, there is no `[DONE]` at the end.
 */
async function* imageEvents(job: ImageJob, count: number, created: number): AsyncGenerator<Frame> {
  const { partials, scenario } = job.request
  const event = async (name: string, index: number, more: object, role: Frame['role'], partial?: number) => {
    const type = `${job.eventPrefix}.${name}`
    const encoded = await paint(job, index, partial)
    const properties = imageProperties(job.request, encoded.background)
    const data = { type, b64_json: base64Of(encoded), created_at: created, ...properties, ...more }
    return namedEvent(type, data, 'first', role)
  }
  for (let index = 0; index < count; index++) {
    const isLast = index === count - 1
    const isEarly = scenario === 'early'
    // Usage is that of the request so far: in the last event that of all images.
    const usage = usageAfter(job, index + 1)
    const completed = () => event('completed', index, { usage }, isLast ? 'terminal' : 'event')
    if (isEarly) yield await completed()
    for (let partial = 0; partial < partials; partial++) {
      const role = isEarly && isLast ? 'closing' : 'event'
      yield await event('partial_image', index, { partial_image_index: partial }, role, partial)
    }
    if (!isEarly) yield await completed()
  }
}

/**
 * Creates a picture by its number, from 0, and yields to other requests on the way.
 * @param partial the number of a partial image, from 0
 */
export async function paint(
  { request, draw }: Pick<ImageJob, 'request' | 'draw'>,
  index: number,
  partial?: number,
): Promise<EncodedPicture> {
  const { format, encoderQuality, background, partials } = request
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
