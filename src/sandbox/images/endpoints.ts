import { familyOf } from '../../contract/families.ts'
import { imageCreateEndpoint, defaultEditModel, imageEditEndpoint } from '../../contract/images.ts'
import { assertValid } from '../http/problem.ts'
import type { Reply } from '../http/reply.ts'
import { textOf } from '../json-value.ts'
import type { SandboxRequest, SandboxContext } from '../request.ts'
import { assertServed } from '../models.ts'
import { isModelA, readOrder, usageOf, type ImageOrder } from './order.ts'
import {
  flatPainter,
  scenePainter,
  assertNotRefused,
  countOf,
  replyWithImages,
  type KeepImage,
} from './reply.ts'
import { cutOut, type Size, fit, maskOpening, compose, hasTransparency, repaint } from './pixels.ts'
import { drawScene, sceneColours } from './scene/draw-scene.ts'
import { crc32 } from 'node:zlib'
import { nextTurn } from '../../context.ts'
import { decodeImage, type Pixels } from '../../files/codecs.ts'
import { checkSources, invalid, type Source } from './check-sources.ts'

/** What `auto` and no size at all become. */
const usualSize = { width: 1024, height: 1024 }

/**
 * Endpoint 4: generate images.
 * @throws RequestProblem
 */
export function createImages(
  request: SandboxRequest,
  keep: KeepImage,
  { seed, clock, media }: SandboxContext,
): Promise<Reply> {
  const { body } = request
  const model = textOf(body['model'])
  assertServed(imageCreateEndpoint, model)
  assertValid(imageCreateEndpoint, body, familyOf(model))
  const order = readOrder(request, model)
  assertNotRefused(order)
  const size = order.size ?? usualSize
  const count = countOf(order)
  const { prompt, detail, isVivid } = order
  const draw = (index: number) => {
    const scene = drawScene({ seed: [seed, 'image', index], prompt, ...size, detail, isVivid })
    return order.background === 'transparent' ? cutOut(scene) : scene
  }
  return replyWithImages(
    {
      order,
      eventPrefix: 'image_generation',
      id: `img_${seed}_${request.number}`,
      createdAt: Math.floor(clock.now() / 1000),
      size,
      count,
      usage: isModelA(order.family) ? usageOf(order, size, count) : undefined,
      painter: media === 'flat' ? flatPainter(order, size) : scenePainter(order, draw),
      signal: request.signal,
    },
    keep,
  )
}

const square = { width: 1024, height: 1024 }
const sizesA: readonly Size[] = [square, { width: 1536, height: 1024 }, { width: 1024, height: 1536 }]

/**
 * Endpoint 6: edit images. The first image is edited; the others only count towards usage and chance.
 * @throws RequestProblem
 */
export async function editImages(
  request: SandboxRequest,
  keep: KeepImage,
  { seed, clock, media }: SandboxContext,
): Promise<Reply> {
  const { body, files } = request
  const model = textOf(body['model']) || defaultEditModel(body).model
  const family = familyOf(model)
  assertServed(imageEditEndpoint, model)
  if (body['image'] !== undefined) throw invalid('image', 'must be a file')
  if (body['mask'] !== undefined) throw invalid('mask', 'must be a file')
  assertValid(imageEditEndpoint, body, family)
  const { images, mask } = checkSources(files, family)
  const order = readOrder(request, model)
  assertNotRefused(order)
  const size = order.size ?? (family === 'image-model-b' ? square : nearestShape(images[0]))
  const source = await pixelsOf(images[0], 'image')
  await nextTurn()
  const maskPixels = mask && (await pixelsOf(mask, 'mask'))
  const isFaithful = body['input_fidelity'] === 'high'
  const count = countOf(order)
  const fingerprint = files.reduce((sum, { head }) => crc32(head, sum), 0)
  const painter = () => {
    const base = fit(source, size)
    const opening = maskPixels && maskOpening(maskPixels, size)
    return scenePainter(order, (index) =>
      editPicture(base, opening, { order, isFaithful, seed: [seed, 'edit', fingerprint, index] }),
    )
  }
  return replyWithImages(
    {
      order,
      eventPrefix: 'image_edit',
      id: `edit_${seed}_${request.number}`,
      createdAt: Math.floor(clock.now() / 1000),
      size,
      count,
      usage: isModelA(family) ? usageOf(order, size, count, { sources: images, isFaithful }) : undefined,
      painter: media === 'flat' ? flatPainter(order, size) : painter(),
      signal: request.signal,
    },
    keep,
  )
}

/** `auto`, and no size for models other than B: the size of model A whose shape is nearest to the source's. */
function nearestShape(source: Size): Size {
  const shape = ({ width, height }: Size) => Math.log(width / height)
  const distance = (size: Size) => Math.abs(shape(size) - shape(source))
  return sizesA.reduce((best, size) => (distance(size) < distance(best) ? size : best))
}

/** @throws RequestProblem 400 for an image whose header is right and the rest is not */
async function pixelsOf({ file, mediaType }: Source, name: string): Promise<Pixels> {
  try {
    return await decodeImage(file.head, mediaType)
  } catch {
    throw invalid(name, `is a damaged ${mediaType}`)
  }
}

/** How much of its own colours a whole picture loses, and how much of the new scene shows through it. */
const strengths = {
  usual: { colours: 0.75, scene: 0.3 },
  faithful: { colours: 0.4, scene: 0.12 },
} as const

interface EditOrder {
  readonly order: ImageOrder
  /** High input fidelity: the edit stays closer to the source. */
  readonly isFaithful: boolean
  readonly seed: readonly (string | number)[]
}

/**
 * Edits a picture: through the opening of a mask a new scene appears and the rest stays as it is, pixel by pixel;
 * without one the whole picture is painted in the new scene's colours, and the scene shows through.
 * @param opening 0 to 1 for every pixel
 */
function editPicture(
  base: Pixels,
  opening: Float32Array | undefined,
  { order, isFaithful, seed }: EditOrder,
): Pixels {
  const { prompt, detail, isVivid } = order
  const { width, height } = base
  const plan = { seed, prompt, width, height, detail, isVivid }
  const scene = drawScene(plan)
  const isTransparent = order.background === 'transparent'
  if (opening !== undefined) {
    return compose(base, isTransparent ? cutOut(scene) : scene, (pixel) => opening[pixel]!)
  }
  const strength = isFaithful ? strengths.faithful : strengths.usual
  const painted = repaint(base, { colours: sceneColours(plan), scene, strength })
  return isTransparent && !hasTransparency(painted) ? cutOut(painted) : painted
}
