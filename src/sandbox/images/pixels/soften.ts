import type { Pixels } from '../../../files/codecs.ts'
import { resize } from './resize.ts'

/** The picture as it would look with so few points along its shorter side: what a partial image shows. */
export function soften(picture: Pixels, points: number): Pixels {
  const { width, height } = picture
  const scale = Math.min(1, points / Math.min(width, height))
  const [fewWide, fewHigh] = [Math.ceil(width * scale), Math.ceil(height * scale)]
  const small = resize(picture, { left: 0, top: 0, width, height }, fewWide, fewHigh)
  return resize(small, { left: 0, top: 0, width: fewWide, height: fewHigh }, width, height)
}
