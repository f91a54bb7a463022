import { crc32 } from 'node:zlib'
import { familyOf } from '../../contract/families.ts'
import { defaultEditModel, imageEditEndpoint } from '../../contract/images.ts'
import { nextTurn } from '../../context.ts'
import { decodeImage } from '../../files/codecs.ts'
import type { Pixels } from '../../files/codecs.ts'
import { assertValid } from '../http/problem.ts'
import type { Reply } from '../http/reply.ts'
import { textOf } from '../json-value.ts'
import type { SandboxRequest, Surroundings } from '../request.ts'
import { assertServed } from './assert-served.ts'
import { checkSources, invalid } from './check-sources.ts'
import type { Source } from './check-sources.ts'
import { editPicture } from './edit-picture.ts'
import { isModelA, readOrder } from './order.ts'
import { flatPainter, scenePainter } from './painter.ts'
import type { Size } from './pixels/fit.ts'
import { fit } from './pixels/fit.ts'
import { openingOf } from './pixels/opening.ts'
import { assertNotRefused, countOf, replyWithImages } from './reply-with-images.ts'
import type { KeepImage } from './reply-with-images.ts'
import { usageOf } from './usage.ts'

const square = { width: 1024, height: 1024 }
const sizesA: readonly Size[] = [square, { width: 1536, height: 1024 }, { width: 1024, height: 1536 }]

/**
 * Endpoint 6: edit images. The first image is edited; the others only count towards usage and chance.
 * @throws RequestProblem
 */
export async function editImages(
  request: SandboxRequest,
  keep: KeepImage,
  { seed, clock, media }: Surroundings,
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
    const opening = maskPixels && openingOf(maskPixels, size)
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
