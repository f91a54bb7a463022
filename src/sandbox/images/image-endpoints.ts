import { yieldToEventLoop } from '../../context.ts'
import { families, familyCalled } from '../../contract/families.ts'
import { checkBody, type Family } from '../../contract/field.ts'
import { defaultEditModel, imageCreateEndpoint, imageEditEndpoint } from '../../contract/images.ts'
import { modelCalled, type Model } from '../../contract/known-models.ts'
import type { Pixels } from '../../files/codecs.ts'
import { assertValid, RequestProblem } from '../http/request-problem.ts'
import { bytesReply, type Reply } from '../http/reply.ts'
import { textOf, type JsonObject } from '../json-value.ts'
import { assertServed } from '../sandbox-models.ts'
import type { Exchange } from '../sandbox.ts'
import { checkSources, decodeSource, invalidFile, type Source } from './check-images.ts'
import { readImageRequest, sizeOf, usualSize, type ImageRequest } from './image-request.ts'
import { cutOut, fit, paintOpening, type Size } from './pixels.ts'
import { replyWithImages, signatureOf } from './image-reply.ts'
import { plainPicture } from './plain-picture.ts'

/**
 * Endpoint 4: generate images.
 * @throws RequestProblem
 */
export function createImages(exchange: Exchange): Promise<Reply> {
  const { body, sandbox } = exchange
  const named = textOf(body['model'])
  const model = named === '' ? chooseModel(body) : modelCalled(named, sandbox.families)
  assertServed(imageCreateEndpoint, model)
  assertValid(imageCreateEndpoint, body, model)
  const request = readImageRequest(exchange, model, imageCreateEndpoint)
  const draw = (index: number) => promptPicture(request, request.size, [...exchange.seed, 'image'], index)
  return replyWithImages({ request, draw, eventPrefix: 'image_generation' }, exchange)
}

/** Draws one picture of a prompt by its number, from 0. */
export function promptPicture(
  { prompt, isVivid, background }: ImageRequest,
  { width, height }: Size,
  seed: readonly (string | number)[],
  index: number,
): Pixels {
  const caption = `${width}x${height} #${index + 1}`
  const picture = plainPicture({ seed: [...seed, index], text: prompt, caption, width, height, isVivid })
  return background === 'transparent' ? cutOut(picture) : picture
}

/** For a request without a model: the first of the specification that takes its parameters, or the current one. */
function chooseModel(body: JsonObject): Model {
  const served = families.filter(({ endpoints }) => endpoints['image create'] !== undefined)
  const takesAll = (family: Family) => checkBody(imageCreateEndpoint, body, modelOf(family)).length === 0
  return modelOf(served.find(takesAll) ?? familyCalled('image-model-a'))
}

function modelOf(family: Family): Model {
  return { ...modelCalled(family.id), family }
}

/** The sizes of model A, which `auto` chooses from. */
const sizes = sizeWords(familyCalled('image-model-a')).flatMap((word) => sizeOf(word) ?? [])

function sizeWords({ endpoints }: Family): readonly string[] {
  const limits = endpoints['image edit']?.['size']
  return limits === undefined || limits === false ? ['auto'] : (limits.values ?? [])
}

/**
 * Endpoint 6: edit images. With a mask the first image stays as it is but for the open area; without one, all of it is
 * new. Other images only affect usage and the random seed.
 * @throws RequestProblem
 */
export async function editImages(exchange: Exchange): Promise<Reply> {
  const { body, files, sandbox } = exchange
  const model = modelCalled(textOf(body['model']) || defaultEditModel(body).model, sandbox.families)
  const { family } = model
  assertServed(imageEditEndpoint, model)
  for (const name of ['image', 'mask']) {
    if (body[name] !== undefined) throw invalidFile(name, 'must be a file')
  }
  assertValid(imageEditEndpoint, body, model)
  const { images, mask } = checkSources(files, family)
  const isSquare = family !== undefined && !sizeWords(family).includes('auto')
  const usual = isSquare ? usualSize : nearestShape(images[0])
  const request = readImageRequest(exchange, model, imageEditEndpoint, usual)
  const { size } = request
  const source = await pixelsOf(images[0], 'image')
  await yieldToEventLoop()
  const maskPixels = mask && (await pixelsOf(mask, 'mask'))
  const isHighFidelity = body['input_fidelity'] === 'high'
  const seed = [...exchange.seed, 'edit', ...files.map(({ digest }) => digest)]
  const draw = (index: number) => {
    if (maskPixels === undefined) return promptPicture(request, size, seed, index)
    return paintOpening(fit(source, size), fit(maskPixels, size), (area) =>
      promptPicture(request, area, seed, index),
    )
  }
  const job = { request, draw, eventPrefix: 'image_edit', sources: images, isHighFidelity } as const
  return replyWithImages(job, exchange)
}

/** `auto`, and no size where the model takes it: the size of model A whose shape is nearest to the source's. */
function nearestShape(source: Size): Size {
  const shape = ({ width, height }: Size) => Math.log(width / height)
  const distance = (size: Size) => Math.abs(shape(size) - shape(source))
  return sizes.reduce((best, size) => (distance(size) < distance(best) ? size : best))
}

function pixelsOf(source: Source, name: string): Promise<Pixels> {
  return decodeSource(source.file.head, source, (problem) => invalidFile(name, problem))
}

/**
 * `GET /sandbox/images/{file}`: an image of a reply that has URLs.
 * @throws RequestProblem 403 for an expired or unsigned URL, 404 for an unknown one
 */
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
