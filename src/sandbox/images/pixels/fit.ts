import type { Pixels } from '../../../files/codecs.ts'
import { resize } from './resize.ts'
import type { Area } from './resize.ts'

/** Width and height in pixels. */
export interface Size {
  readonly width: number
  readonly height: number
}

/** The largest part in the middle of a picture that has the wanted shape. */
export function middleOf(picture: Size, wanted: Size): Area {
  const scale = Math.min(picture.width / wanted.width, picture.height / wanted.height)
  const [width, height] = [wanted.width * scale, wanted.height * scale]
  return { left: (picture.width - width) / 2, top: (picture.height - height) / 2, width, height }
}

/** Scales a picture to fill a size, cutting off what is too much; untouched when it has the size already. */
export function fit(picture: Pixels, size: Size): Pixels {
  if (picture.width === size.width && picture.height === size.height) return picture
  return resize(picture, middleOf(picture, size), size.width, size.height)
}
