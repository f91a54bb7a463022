import type { Pixels } from '../../../files/codecs.ts'
import { repaint } from '../../images/pixels/repaint.ts'
import { drawScene, sceneColours } from '../../images/scene/draw-scene.ts'
import type { Film } from '../film-plan.ts'

/** How much of the old colours a remix takes away. Nothing of another scene shows through: the shape stays. */
const change = { colours: 0.85, scene: 0 } as const

/** A larger scene, of a video in 4k, is drawn at half its size: the whole would hold up other requests. */
const mostPixels = 5_000_000

/**
 * Draws what the camera passes: the scene of the first prompt, wider than the video, in the colours of the last change,
 * so that a remix is another picture and can still be known by its shape.
 * @param width even, as the height
 */
export function filmScene({ prompts, seed }: Film, width: number, height: number): Pixels {
  const plan = (prompt: string) => ({ seed: [seed], prompt, isVivid: true })
  const [first, ...changes] = prompts
  const scale = width * height > mostPixels ? 2 : 1
  const scene = drawScene({ ...plan(first), width: width / scale, height: height / scale, detail: 2 })
  const painted = changes.reduce(
    (picture, prompt) =>
      repaint(picture, { colours: sceneColours(plan(prompt)), scene: picture, strength: change }),
    scene,
  )
  return scale === 1 ? painted : doubled(painted)
}

/** Every pixel four times. */
function doubled({ data, width, height }: Pixels): Pixels {
  const from = new Uint32Array(data.buffer, data.byteOffset, width * height)
  const to = new Uint32Array(width * height * 4)
  for (let y = 0; y < height; y++) {
    const row = y * width * 4
    for (let x = 0; x < width; x++) to.fill(from[y * width + x]!, row + x * 2, row + x * 2 + 2)
    to.copyWithin(row + width * 2, row, row + width * 2)
  }
  return { data: new Uint8ClampedArray(to.buffer), width: width * 2, height: height * 2 }
}
