import { videoResolutions } from '../contract/videos.ts'
import type { Mismatch } from '../events/text.ts'
import { hasTransparentPixel } from '../files/codecs.ts'
import { objectOf, stringOf, type JsonObject } from '../json.ts'

/**
 * A result held against its request: gateways in the middle drop fields that they do not know. Only what was asked for by
 * name is compared; the file decides, the gateway's own echo only where the file does not say.
 */

export type Difference = Pick<Mismatch, 'field' | 'asked' | 'came'>

/** What a file is, from its bytes; null where they do not say. */
interface Came {
  readonly mime_type: string
  readonly width: number | null
  readonly height: number | null
}

const unknownType = 'application/octet-stream'

/** Compares `output_format`, `size` and `background`. @param read gives the image, where transparency was asked for */
export async function imageDifferences(
  body: JsonObject,
  { mime_type: type, width, height }: Came,
  echo: JsonObject,
  read: () => Promise<Uint8Array | undefined>,
): Promise<Difference[]> {
  const pixels = width === null || height === null ? stringOf(echo['size']) : `${width}x${height}`
  const format = type === unknownType ? stringOf(echo['output_format']) : type.replace('image/', '')
  const background = async () => {
    const bytes = await read()
    const isTransparent = bytes && (await hasTransparentPixel(bytes))
    if (isTransparent === undefined) return stringOf(echo['background'])
    return isTransparent ? 'transparent' : 'opaque'
  }
  const asked = ['transparent', 'opaque'].find((word) => word === body['background'])
  return [
    ...difference('output_format', stringOf(body['output_format']), format),
    ...difference('size', sizeIn(body['size']), pixels),
    ...difference('background', asked, asked && (await background())),
  ]
}

/** Lengths of a video may be off by half a second, or by a tenth of what was asked for, whichever is more. */
const secondsOff = { least: 0.5, part: 0.1 }

/** How far the ratio of the edges may be off; encoders round edges to whole blocks. */
const ratioOff = 0.02

/** In pixels. No model makes smaller videos: they are the stand-ins of test gateways, which follow no request. */
const leastEdge = 64

/** Compares the size, or the aspect and the resolution, and the seconds; those of an operation are in `parameters`. */
export function videoDifferences(
  body: JsonObject,
  { width, height, seconds }: Omit<Came, 'mime_type'> & { readonly seconds: number | null },
  echo: JsonObject,
): Difference[] {
  const request: JsonObject = { ...body, ...objectOf(body['parameters']) }
  const { size, aspectRatio, resolution, durationSeconds, seconds: duration } = request
  const pixels = width === null || height === null ? sizeIn(echo['size']) : `${width}x${height}`
  const [wide = NaN, high = NaN] = pixels?.split('x').map(Number) ?? []
  if (wide < leastEdge && high < leastEdge) return []
  const [across = NaN, down = NaN] = stringOf(aspectRatio)?.split(':').map(Number) ?? []
  const [, shortEdge = NaN] = videoResolutions[stringOf(resolution) ?? ''] ?? []
  const isOff = (found: number, wanted: number) => Math.abs(found / wanted - 1) > ratioOff
  const length = Number(durationSeconds ?? duration ?? NaN)
  const lengthName = durationSeconds === undefined ? 'seconds' : 'durationSeconds'
  const lasts = seconds ?? Number(echo['seconds'] ?? NaN)
  const tolerance = Math.max(secondsOff.least, length * secondsOff.part)
  return [
    ...difference('size', sizeIn(size), pixels),
    ...(isOff(wide / high, across / down) ? difference('aspectRatio', String(aspectRatio), pixels) : []),
    ...(isOff(Math.min(wide, high), shortEdge) ? difference('resolution', String(resolution), pixels) : []),
    ...(Math.abs(lasts - length) > tolerance ? difference(lengthName, String(length), String(lasts)) : []),
  ]
}

function sizeIn(value: unknown): string | undefined {
  return typeof value === 'string' && /^\d+x\d+$/.test(value) ? value : undefined
}

function difference(field: string, asked: string | undefined, came: string | undefined): Difference[] {
  return asked === undefined || came === undefined || asked === came ? [] : [{ field, asked, came }]
}

export function differenceSentence(subject: string, { field, asked, came }: Difference): string {
  return `${subject} came with ${field} ${came} instead of ${asked}.`
}
