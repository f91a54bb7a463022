import type { Pixels } from '../../files/codecs.ts'
import type { ImageOrder } from './order.ts'
import { compose, cutOut, hasTransparency } from './pixels/compose.ts'
import { repaint } from './pixels/repaint.ts'
import { drawScene, sceneColours } from './scene/draw-scene.ts'

/** How much of its own colours a whole picture loses, and how much of the new scene shows through it. */
const strengths = {
  usual: { colours: 0.75, scene: 0.3 },
  faithful: { colours: 0.4, scene: 0.12 },
} as const

export interface EditOrder {
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
export function editPicture(
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
