import type { Pixels } from '../../../files/codecs.ts'
import { repaint } from '../../images/pixels/repaint.ts'
import { drawScene, sceneColours } from '../../images/scene/draw-scene.ts'
import type { Film } from '../film-plan.ts'

/** How much of the old colours a remix takes away. Nothing of another scene shows through: the shape stays. */
const change = { colours: 0.85, scene: 0 } as const

/**
 * Draws what the camera passes: the scene of the first prompt, wider than the video, in the colours of the last change,
 * so that a remix is another picture and can still be known by its shape.
 */
export function filmScene({ prompts, seed }: Film, width: number, height: number): Pixels {
  const plan = (prompt: string) => ({ seed: [seed], prompt, isVivid: true })
  const [first, ...changes] = prompts
  const scene = drawScene({ ...plan(first), width, height, detail: 2 })
  return changes.reduce(
    (picture, prompt) =>
      repaint(picture, { colours: sceneColours(plan(prompt)), scene: picture, strength: change }),
    scene,
  )
}
