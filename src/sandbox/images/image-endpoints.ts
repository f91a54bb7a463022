import { crc32 } from 'node:zlib'
import { yieldToEventLoop } from '../../context.ts'
import { families, familyCalled } from '../../contract/families.ts'
import { checkBody, type Family } from '../../contract/field.ts'
import { defaultEditModel, imageCreateEndpoint, imageEditEndpoint } from '../../contract/images.ts'
import { modelCalled, type Model } from '../../contract/known-models.ts'
import type { Pixels } from '../../files/codecs.ts'
import { assertValid } from '../http/request-problem.ts'
import type { Reply } from '../http/reply.ts'
import { textOf, type JsonObject } from '../json-value.ts'
import { assertServed } from '../sandbox-models.ts'
import type { SandboxRequest, SandboxContext } from '../request.ts'
import { checkSources, decodeSource, invalidFile, type Source } from './check-images.ts'
import type { ImageStore } from './image-store.ts'
import { readParameters, sizeOf, usageOf, type ImageParameters } from './parameters.ts'
import { compose, cutOut, type Size, fit, maskOpening, hasTransparency, repaint } from './pixels.ts'
import { flatPainter, scenePainter, countOf, replyWithImages } from './image-reply.ts'
import { drawScene, sceneColours } from './scene/draw-scene.ts'

/** The size of a picture if the request leaves it open. */
export const usualSize = { width: 1024, height: 1024 }

/**
 * Endpoint 4: generate images.
 * @throws RequestProblem
 */
export function createImages(
  request: SandboxRequest,
  store: ImageStore,
  context: SandboxContext,
): Promise<Reply> {
  const { body } = request
  const named = textOf(body['model'])
  const model = named === '' ? chooseModel(body) : modelCalled(named, context.families)
  assertServed(imageCreateEndpoint, model)
  assertValid(imageCreateEndpoint, body, model)
  const parameters = readParameters(request, model, imageCreateEndpoint)
  const size = parameters.size ?? usualSize
  const draw = promptScene(parameters, size, [...request.seed, 'image'])
  const task = { parameters, size, draw, sources: [], isHighFidelity: false }
  return answer('img', 'image_generation', task, request, store, context)
}

/** Draws the pictures of a prompt, each by its number. */
export function promptScene(
  { prompt, detail, isVivid, background }: ImageParameters,
  size: Size,
  seed: readonly (string | number)[],
): (index: number) => Pixels {
  return (index) => {
    const scene = drawScene({ seed: [...seed, index], prompt, ...size, detail, isVivid })
    return background === 'transparent' ? cutOut(scene) : scene
  }
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
 * Endpoint 6: edit images. The first image is edited; the others only affect usage and the random seed.
 * @throws RequestProblem
 */
export async function editImages(
  request: SandboxRequest,
  store: ImageStore,
  context: SandboxContext,
): Promise<Reply> {
  const { body, files } = request
  const model = modelCalled(textOf(body['model']) || defaultEditModel(body).model, context.families)
  const { family } = model
  assertServed(imageEditEndpoint, model)
  for (const name of ['image', 'mask']) {
    if (body[name] !== undefined) throw invalidFile(name, 'must be a file')
  }
  assertValid(imageEditEndpoint, body, model)
  const { images, mask } = checkSources(files, family)
  const parameters = readParameters(request, model, imageEditEndpoint)
  const isSquare = family !== undefined && !sizeWords(family).includes('auto')
  const size = parameters.size ?? (isSquare ? usualSize : nearestShape(images[0]))
  const source = await pixelsOf(images[0], 'image')
  await yieldToEventLoop()
  const maskPixels = mask && (await pixelsOf(mask, 'mask'))
  const isHighFidelity = body['input_fidelity'] === 'high'
  const fingerprint = files.reduce((sum, { head }) => crc32(head, sum), 0)
  let fitted: Pick<Edit, 'base' | 'opening'> | undefined
  const draw = (index: number) => {
    fitted ??= { base: fit(source, size), opening: maskPixels && maskOpening(maskPixels, size) }
    return editPicture({
      ...fitted,
      parameters,
      isHighFidelity,
      seed: [...request.seed, 'edit', fingerprint, index],
    })
  }
  const task = { parameters, size, draw, sources: images, isHighFidelity }
  return answer('edit', 'image_edit', task, request, store, context)
}

interface Task {
  readonly parameters: ImageParameters
  readonly size: Size
  readonly draw: (index: number) => Pixels
  readonly sources: readonly Source[]
  readonly isHighFidelity: boolean
}

function answer(
  idPrefix: string,
  eventPrefix: 'image_generation' | 'image_edit',
  { parameters, size, draw, ...counted }: Task,
  { number, signal, origin }: SandboxRequest,
  store: ImageStore,
  { seed, clock, media }: SandboxContext,
): Promise<Reply> {
  const count = countOf(parameters)
  return replyWithImages({
    parameters,
    eventPrefix,
    id: `${idPrefix}_${seed}_${number}`,
    createdAt: Math.floor(clock.now() / 1000),
    size,
    count,
    usageOf: (images) => usageOf(parameters, size, images, counted),
    painter: media === 'flat' ? flatPainter(parameters, size) : scenePainter(parameters, draw),
    signal,
    keep: (id, picture) => origin + store.keep(id, picture),
  })
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

/** How much a picture without a mask loses of its own colours, and how much of the new scene shows through. */
const strengths = {
  usual: { colours: 0.75, scene: 0.3 },
  faithful: { colours: 0.4, scene: 0.12 },
} as const

interface Edit {
  readonly base: Pixels
  /** 0 to 1 for every pixel; undefined without a mask. */
  readonly opening: Float32Array | undefined
  readonly parameters: ImageParameters
  /** High input fidelity: the edit stays closer to the source. */
  readonly isHighFidelity: boolean
  readonly seed: readonly (string | number)[]
}

/**
 * Edits a picture: with a mask, a new scene appears in its opening and the rest stays identical; without one, the
 * whole picture takes the new scene's colours, and the scene shows through.
 */
function editPicture({ base, opening, parameters, isHighFidelity, seed }: Edit): Pixels {
  const { prompt, detail, isVivid } = parameters
  const plan = { seed, prompt, width: base.width, height: base.height, detail, isVivid }
  const scene = drawScene(plan)
  const isTransparent = parameters.background === 'transparent'
  if (opening !== undefined) return compose(base, isTransparent ? cutOut(scene) : scene, opening)
  const strength = isHighFidelity ? strengths.faithful : strengths.usual
  const painted = repaint(base, { colours: sceneColours(plan), scene, strength })
  return isTransparent && !hasTransparency(painted) ? cutOut(painted) : painted
}
