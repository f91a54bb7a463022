import { encodeJpeg, encodePng, encodeWebp } from '../../files/codecs.ts'
import type { Pixels } from '../../files/codecs.ts'
import { nextTurn } from '../../context.ts'
import type { ImageFormat, ImageOrder } from './order.ts'
import { hasTransparency, onWhite } from './pixels/compose.ts'

/** A picture in the asked format. */
export interface EncodedPicture {
  readonly bytes: Uint8Array
  readonly format: ImageFormat
  readonly background: 'transparent' | 'opaque'
}

/** Encodes as the order says; other requests get their turn before. */
export async function encodePicture(picture: Pixels, order: ImageOrder): Promise<EncodedPicture> {
  await nextTurn()
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
