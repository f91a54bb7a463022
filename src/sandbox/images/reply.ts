import type { ImageOrder, ImageFormat } from './order.ts'
import { type Size, hasTransparency, onWhite, soften } from './pixels.ts'
import { brokenOff } from '../faults/replace-reply.ts'
import { RequestProblem, envelope } from '../http/problem.ts'
import { jsonReply, type Reply, type Frame } from '../http/reply.ts'
import { seededHex } from '../seeded-random.ts'
import { nextTurn } from '../../context.ts'
import { encodeJpeg, encodePng, encodeWebp, type Pixels } from '../../files/codecs.ts'

/** Accepted work of either image endpoint. */
interface ImageJob {
  readonly order: ImageOrder
  /** Begins the names of its events: `image_generation.completed`. */
  readonly eventPrefix: 'image_generation' | 'image_edit'
  readonly id: string
  /** Seconds since 1970. */
  readonly createdAt: number
  readonly size: Size
  /** Images that will be made: fewer than asked for in some scenarios. */
  readonly count: number
  /** Usage of the whole request; undefined for models that tell none. */
  readonly usage: object | undefined
  readonly painter: Painter
  /** Aborted when nobody waits for the images any more. */
  readonly signal: AbortSignal
}

/** What replies and final events say about a picture. Legacy models tell nothing of it. */
function traitsOf({ order, size }: ImageJob, background: string): object {
  if (order.family === 'image-model-b' || order.family === 'image-model-c') return {}
  return {
    background,
    output_format: order.format,
    quality: order.quality,
    size: `${size.width}x${size.height}`,
  }
}

/** Where images go that are fetched by their address; returns the whole address. */
export type KeepImage = (id: string, picture: EncodedPicture) => string

const brokeOff = new RequestProblem(500, '[sandbox] Generation broke off.')

/**
 * The reply to a valid request: images in base64 or as addresses, or events.
 * @throws RequestProblem when the scenario has it so
 */
export async function replyWithImages(job: ImageJob, keep: KeepImage): Promise<Reply> {
  const { scenario, streams } = job.order
  if (scenario === 'failure' || (scenario === 'error' && !streams)) throw brokeOff
  const headers = { 'x-request-id': `req_${seededHex(32, job.id)}` }
  if (!streams) return jsonReply(await imageList(job, keep), { headers, creates: true, pause: 'first' })
  const breakOff = () => [errorEvent(brokeOff)]
  const frames = imageEvents(job)
  return {
    status: 200,
    headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache', ...headers },
    frames: scenario === 'error' ? brokenOff(frames, 2, breakOff) : frames,
    isWhole: false,
    creates: true,
    breakOff,
  }
}

/**
 * The refusal of a prompt, as public practice words it.
 * @throws RequestProblem 400 in the scenarios that ask for it
 */
export function assertNotRefused({ scenario }: ImageOrder): void {
  if (scenario !== 'refusal' && scenario !== 'block') return
  throw new RequestProblem(400, '[sandbox] The request was rejected by the safety system.', {
    type: 'image_generation_user_error',
    code: 'moderation_blocked',
  })
}

/** Images that a scenario leaves of those asked for. */
export function countOf({ scenario, count }: ImageOrder): number {
  if (scenario === 'empty') return 0
  return scenario === 'fewer' ? count - 1 : count
}

async function imageList(job: ImageJob, keep: KeepImage): Promise<object> {
  const { order, createdAt, usage, count, painter, signal } = job
  const data: object[] = []
  let background = 'opaque'
  // Nobody is left to read the rest; the request was accepted all the same.
  for (let index = 0; index < count && !signal.aborted; index++) {
    const encoded = await painter.whole(index)
    background = encoded.background
    data.push({
      ...(order.isUrl
        ? { url: keep(seededHex(32, job.id, index), encoded) }
        : { b64_json: Buffer.from(encoded.bytes).toString('base64') }),
      ...(order.family === 'image-model-c' && { revised_prompt: revised(order) }),
    })
  }
  return { created: createdAt, data, ...traitsOf(job, background), ...(usage && { usage }) }
}

function revised({ prompt, isVivid }: ImageOrder): string {
  return `[sandbox] In ${isVivid ? 'vivid' : 'natural'} colours: ${prompt}`
}

/** Points along the shorter side of the first partial image, and how many times more every next one has. */
const firstPoints = 12
const sharpening = 2.3

/**
 * The events of a stream: for every image its partial images, growing sharper, then the whole one. They are made one
 * after the other, while those before them travel. No `[DONE]` closes them, as the public service has it.
 */
async function* imageEvents(job: ImageJob): AsyncGenerator<Frame> {
  const { painter } = job
  for (let index = 0; index < job.count; index++) {
    const isLast = index === job.count - 1
    const isEarly = job.order.scenario === 'early'
    if (isEarly) yield completed(job, await painter.whole(index), isLast)
    for (let partial = 0; partial < job.order.partials; partial++) {
      const points = Math.round(firstPoints * sharpening ** partial)
      const blurred = await painter.softened(index, points)
      const role = isEarly && isLast ? 'closing' : 'event'
      yield event(job, 'partial_image', blurred, { partial_image_index: partial }, role)
    }
    if (!isEarly) yield completed(job, await painter.whole(index), isLast)
  }
}

/** Usage of all images is told once, with the last of them. */
function completed(job: ImageJob, encoded: EncodedPicture, isLast: boolean): Frame {
  return event(job, 'completed', encoded, isLast ? { usage: job.usage } : {}, isLast ? 'terminal' : 'event')
}

function event(
  job: ImageJob,
  name: 'partial_image' | 'completed',
  { bytes, background }: EncodedPicture,
  more: object,
  role: Frame['role'],
): Frame {
  const type = `${job.eventPrefix}.${name}`
  const data = JSON.stringify({
    type,
    b64_json: Buffer.from(bytes).toString('base64'),
    created_at: job.createdAt,
    ...traitsOf(job, background),
    ...more,
  })
  return { text: `event: ${type}\ndata: ${data}\n\n`, pause: 'first', role }
}

/** The event that ends a stream whose generation broke off (wire notes, relay quirk 17). */
function errorEvent(problem: RequestProblem): Frame {
  const data = JSON.stringify({ type: 'error', ...envelope('openai', problem) })
  return { text: `event: error\ndata: ${data}\n\n`, pause: 'token', role: 'terminal' }
}

/** A picture in the asked format. */
export interface EncodedPicture {
  readonly bytes: Uint8Array
  readonly format: ImageFormat
  readonly background: 'transparent' | 'opaque'
}

/** Makes the pictures of one request, one at a time; other requests get their turn before each. */
interface Painter {
  /** The picture of a number, counted from 0. */
  whole(index: number): Promise<EncodedPicture>
  /** The same as it would look with so few points along its shorter side. */
  softened(index: number, points: number): Promise<EncodedPicture>
}

/** @param draw draws the same picture every time */
export function scenePainter(order: ImageOrder, draw: (index: number) => Pixels): Painter {
  let drawn: { readonly index: number; readonly picture: Pixels } | undefined
  const take = async (index: number) => {
    await nextTurn()
    if (drawn?.index !== index) drawn = { index, picture: draw(index) }
    await nextTurn()
    return drawn.picture
  }
  return {
    whole: async (index) => encode(await take(index), order),
    softened: async (index, points) => encode(soften(await take(index), points), order),
  }
}

/** Pictures of one colour and the right size, made once for each format: for tests of all that is around a picture. */
export function flatPainter(order: ImageOrder, size: Size): Painter {
  const { format, encoderQuality, background } = order
  const name = [size.width, size.height, format, encoderQuality, background].join()
  const whole = () => {
    const picture = flat.get(name) ?? encode(flatPicture(size, background === 'transparent'), order)
    flat.set(name, picture)
    return picture
  }
  return { whole, softened: whole }
}

const flat = new Map<string, Promise<EncodedPicture>>()

function flatPicture({ width, height }: Size, isTransparent: boolean): Pixels {
  const data = new Uint8ClampedArray(width * height * 4).fill(isTransparent ? 0 : 255)
  return { data, width, height }
}

async function encode(picture: Pixels, order: ImageOrder): Promise<EncodedPicture> {
  const { format, encoderQuality, background } = order
  const visible = format === 'jpeg' || background === 'opaque' ? onWhite(picture) : picture
  const bytes = await encoders[format](visible, encoderQuality)
  return { bytes, format, background: hasTransparency(visible) ? 'transparent' : 'opaque' }
}

const encoders: Readonly<Record<ImageFormat, (picture: Pixels, quality: number) => Promise<Uint8Array>>> = {
  png: encodePng,
  jpeg: encodeJpeg,
  webp: encodeWebp,
}
