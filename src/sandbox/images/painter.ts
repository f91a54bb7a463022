import { nextTurn } from '../../context.ts'
import { encodeJpeg, encodePng, encodeWebp } from '../../files/codecs.ts'
import type { Pixels } from '../../files/codecs.ts'
import type { ImageFormat, ImageOrder } from './order.ts'
import { hasTransparency, onWhite } from './pixels/compose.ts'
import type { Size } from './pixels/fit.ts'
import { soften } from './pixels/soften.ts'

/** A picture in the asked format. */
export interface EncodedPicture {
  readonly bytes: Uint8Array
  readonly format: ImageFormat
  readonly background: 'transparent' | 'opaque'
}

/** Makes the pictures of one request, one at a time; other requests get their turn before each. */
export interface Painter {
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
