import { yieldToEventLoop } from '../../context.ts'
import { families, familyCalled } from '../../contract/families.ts'
import { checkBody, type Family } from '../../contract/field.ts'
import {
  defaultEditModel,
  imageCreateEndpoint,
  imageEditEndpoint,
  urlLifetimeMinutes,
} from '../../contract/images.ts'
import { modelCalled, type Model } from '../../contract/known-models.ts'
import { encodeJpeg, encodePng, encodeWebp, type Pixels } from '../../files/codecs.ts'
import { assertValid, brokeOff, errorBody, RequestProblem } from '../http/request-problem.ts'
import {
  brokenOff,
  bytesReply,
  eventHeaders,
  jsonReply,
  namedEvent,
  streamReply,
  type Frame,
  type Reply,
} from '../http/reply.ts'
import { textOf, type JsonObject } from '../json-value.ts'
import { assertServed } from '../sandbox-models.ts'
import type { EncodedPicture, Exchange, SandboxState } from '../sandbox.ts'
import { seededHex } from '../seeded-random.ts'
import {
  checkSources,
  decodeSource,
  invalidFile,
  readImageRequest,
  sizeOf,
  takes,
  usageOf,
  usualSize,
  type ImageRequest,
} from './image-request.ts'
import { cutOut, fit, hasTransparency, onWhite, paintOpening, unfinished, type Size } from './pixels.ts'
import { plainPicture } from './plain-picture.ts'

/** Endpoint 4: generate images. */
export function createImages(exchange: Exchange): Promise<Reply> {
  const { body, sandbox } = exchange
  const named = textOf(body['model'])
  const model = named === '' ? chooseModel(body) : modelCalled(named, sandbox.families)
  assertServed(imageCreateEndpoint, model)
  assertValid(imageCreateEndpoint, body, model)
  return replyWithImages(readImageRequest(exchange, model, imageCreateEndpoint), exchange)
}

/** For a request without a model: the first of the specification that takes its parameters, or the current one. */
function chooseModel(body: JsonObject): Model {
  const models = families
    .filter(({ endpoints }) => endpoints['image create'] !== undefined)
    .map((family) => ({ ...modelCalled(family.id), family }))
  const takesAll = (model: Model) => checkBody(imageCreateEndpoint, body, model).length === 0
  return models.find(takesAll) ?? models.find(({ id }) => id === 'image-model-a')!
}

/** The sizes of model A, which `auto` chooses from. */
const sizes = sizeWords(familyCalled('image-model-a')).flatMap((word) => sizeOf(word) ?? [])

function sizeWords({ endpoints }: Family): readonly string[] {
  const limits = endpoints['image edit']?.['size']
  return limits === undefined || limits === false ? ['auto'] : (limits.values ?? [])
}

/** Endpoint 6: edit images. Those after the first only affect usage and the random seed. */
export async function editImages(exchange: Exchange): Promise<Reply> {
  const { body, files, sandbox } = exchange
  const model = modelCalled(textOf(body['model']) || defaultEditModel(body).model, sandbox.families)
  const { family } = model
  assertServed(imageEditEndpoint, model)
  for (const name of ['image', 'mask']) {
    if (body[name] !== undefined) throw invalidFile(name, 'must be a file')
  }
  assertValid(imageEditEndpoint, body, model)
  const { image, mask } = checkSources(files, family)
  const isSquare = family !== undefined && !sizeWords(family).includes('auto')
  const usual = isSquare ? usualSize : nearestShape(image)
  const request = readImageRequest(exchange, model, imageEditEndpoint, usual)
  const source = await decodeSource(image, 'image')
  await yieldToEventLoop()
  if (mask === undefined) return replyWithImages(request, exchange)
  const opened = fit(await decodeSource(mask, 'mask'), request.size)
  return replyWithImages(
    { ...request, masked: { source: fit(source, request.size), mask: opened } },
    exchange,
  )
}

function nearestShape(source: Size): Size {
  const shape = ({ width, height }: Size) => Math.log(width / height)
  const distance = (size: Size) => Math.abs(shape(size) - shape(source))
  return sizes.reduce((best, size) => (distance(size) < distance(best) ? size : best))
}

/** `GET /sandbox/images/{file}`: an image of a reply that has URLs. */
export function serveImage({ sandbox, params, query }: Exchange): Reply {
  const file = params['file']!
  const expiry = query.get('se') ?? ''
  if (query.get('sig') !== signatureOf(sandbox, file, expiry)) {
    throw new RequestProblem(403, 'The signature of this address is invalid.', { code: 'invalid_signature' })
  }
  if (sandbox.clock.now() >= Date.parse(expiry)) {
    throw new RequestProblem(403, `This address expired at ${expiry}.`, { code: 'url_expired' })
  }
  const image = sandbox.images.get(file)
  if (image === undefined) throw new RequestProblem(404, 'There is no such image.')
  return bytesReply(image.bytes, `image/${image.format}`)
}

/** The properties of a picture in replies and final events; none with legacy models. */
function imageProperties({ family, format, quality, size }: ImageRequest, background: string): object {
  if (family !== undefined && !takes(family, 'output_format')) return {}
  return { background, output_format: format, quality, size: `${size.width}x${size.height}` }
}

async function replyWithImages(request: ImageRequest, exchange: Exchange): Promise<Reply> {
  const { number, sandbox } = exchange
  const { scenario, streams, count: asked, sources } = request
  if (scenario === 'failure' || (scenario === 'error' && !streams)) throw brokeOff
  const id = `${sources > 0 ? 'edit' : 'img'}_${sandbox.seed}_${number}`
  const created = Math.floor(sandbox.clock.now() / 1000)
  const count = scenario === 'empty' ? 0 : scenario === 'fewer' ? asked - 1 : asked
  const headers = { 'x-request-id': `req_${seededHex(32, id)}` }
  if (!streams) {
    const list = { created, ...(await imageList(request, count, id, exchange)) }
    return jsonReply(list, { headers, creates: true, pause: 'first' })
  }
  // The event that ends a stream whose generation broke off (wire notes, relay quirk 17).
  const error = { type: 'error', ...errorBody('openai', brokeOff) }
  const breakOff = () => [namedEvent('error', error, 'token', 'terminal')]
  const frames = imageEvents(request, count, created)
  return streamReply(scenario === 'error' ? brokenOff(frames, 2, breakOff) : frames, {
    headers: { ...eventHeaders, ...headers },
    breakOff,
  })
}

async function imageList(request: ImageRequest, count: number, id: string, exchange: Exchange) {
  const { isUrl, isVivid, prompt, family } = request
  const { sandbox, origin } = exchange
  // Of the families of the specification only model C, which alone has a style.
  const revises = typeof family?.endpoints['image create']?.['style'] === 'object'
  const revised = `[sandbox] In ${isVivid ? 'vivid' : 'natural'} colours: ${prompt}`
  const data: object[] = []
  let background = 'opaque'
  // A client that has gone gets no further pictures, but the request was accepted.
  const signal = exchange.outlivesClient ? sandbox.signal : exchange.signal
  for (let index = 0; index < count && !signal.aborted; index++) {
    const picture = await paint(request, index)
    background = picture.background
    const shown = isUrl
      ? { url: origin + keptPath(sandbox, seededHex(32, id, index), picture) }
      : { b64_json: base64Of(picture) }
    data.push({ ...shown, ...(revises && { revised_prompt: revised }) })
  }
  const usage = usageOf(request, count)
  return { data, ...imageProperties(request, background), ...(usage && { usage }) }
}

function keptPath(sandbox: SandboxState, id: string, picture: EncodedPicture): string {
  const file = `${id}.${picture.format.replace('jpeg', 'jpg')}`
  sandbox.images.set(file, picture, picture.bytes.length)
  const se = new Date(sandbox.clock.now() + urlLifetimeMinutes * 60_000).toISOString()
  return `/sandbox/images/${file}?${new URLSearchParams({ se, sig: signatureOf(sandbox, file, se) })}`
}

function signatureOf({ seed }: SandboxState, file: string, expiry: string): string {
  return seededHex(32, seed, 'address', file, expiry)
}

export function base64Of({ bytes }: EncodedPicture): string {
  return Buffer.from(bytes).toString('base64')
}

/** For every image its partial images, then the final one, each made while the previous are sent. No `[DONE]`. */
async function* imageEvents(request: ImageRequest, count: number, created: number): AsyncGenerator<Frame> {
  const { partials, scenario, sources } = request
  const isEarly = scenario === 'early'
  for (let index = 0; index < count; index++) {
    const previews = Array.from({ length: partials }, (_, partial) => partial)
    for (const partial of isEarly ? [undefined, ...previews] : [...previews, undefined]) {
      const isWhole = partial === undefined
      const type = `${sources > 0 ? 'image_edit' : 'image_generation'}.${isWhole ? 'completed' : 'partial_image'}`
      const picture = await paint(request, index, partial)
      const properties = imageProperties(request, picture.background)
      // Usage is that of the request so far: in the last event that of all images.
      const more = isWhole ? { usage: usageOf(request, index + 1) } : { partial_image_index: partial }
      const data = { type, b64_json: base64Of(picture), created_at: created, ...properties, ...more }
      const isOver = index === count - 1 && (isWhole || isEarly)
      yield namedEvent(type, data, 'first', isOver ? (isWhole ? 'terminal' : 'closing') : 'event')
    }
  }
}

/** Creates a picture, or partial image, by its number, from 0; always the same, and yields to other requests. */
export async function paint(request: ImageRequest, index: number, partial?: number): Promise<EncodedPicture> {
  const { format, encoderQuality, background, partials, size, masked } = request
  await yieldToEventLoop()
  const whole =
    masked === undefined
      ? promptPicture(request, size, index)
      : paintOpening(masked.source, masked.mask, (area) => promptPicture(request, area, index))
  await yieldToEventLoop()
  const picture = partial === undefined ? whole : unfinished(whole, (partial + 1) / (partials + 1))
  const visible = format === 'jpeg' || background === 'opaque' ? onWhite(picture) : picture
  const bytes = await encoders[format](visible, encoderQuality)
  return { bytes, format, background: hasTransparency(visible) ? 'transparent' : 'opaque' }
}

const encoders = { png: encodePng, jpeg: encodeJpeg, webp: encodeWebp }

function promptPicture(
  { prompt, isVivid, background, seed }: ImageRequest,
  { width, height }: Size,
  index: number,
): Pixels {
  const caption = `${width}x${height} #${index + 1}`
  const picture = plainPicture({ seed: [...seed, index], text: prompt, caption, width, height, isVivid })
  return background === 'transparent' ? cutOut(picture) : picture
}
