import { familyOf } from '../../contract/families.ts'
import { imageCreateEndpoint } from '../../contract/images.ts'
import { assertValid } from '../http/problem.ts'
import type { Reply } from '../http/reply.ts'
import { textOf } from '../json-value.ts'
import type { SandboxRequest, Surroundings } from '../request.ts'
import { assertServed } from './assert-served.ts'
import { isModelA, readOrder } from './order.ts'
import { flatPainter, scenePainter } from './painter.ts'
import { cutOut } from './pixels/compose.ts'
import { assertNotRefused, countOf, replyWithImages } from './reply-with-images.ts'
import type { KeepImage } from './reply-with-images.ts'
import { drawScene } from './scene/draw-scene.ts'
import { usageOf } from './usage.ts'

/** What `auto` and no size at all become. */
const usualSize = { width: 1024, height: 1024 }

/**
 * Endpoint 4: generate images.
 * @throws RequestProblem
 */
export function createImages(
  request: SandboxRequest,
  keep: KeepImage,
  { seed, clock, media }: Surroundings,
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
