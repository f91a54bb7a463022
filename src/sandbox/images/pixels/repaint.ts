import type { Pixels } from '../../../files/codecs.ts'
import { along } from '../scene/colour.ts'
import type { Colour } from '../scene/colour.ts'

export interface Repainting {
  /** For dark to light. */
  readonly colours: readonly Colour[]
  /** A picture of the same size that shows through. */
  readonly scene: Pixels
  /** 0 leaves the picture as it is; 1 leaves nothing of its own colours, or nothing but the scene. */
  readonly strength: { readonly colours: number; readonly scene: number }
}

/** Paints a whole picture in other colours: what is dark and what is light in it stays so, and so does its alpha. */
export function repaint(picture: Pixels, { colours, scene, strength }: Repainting): Pixels {
  const slope = Array.from({ length: 256 }, (_, light) => along(colours, light / 255))
  const data = new Uint8ClampedArray(picture.data)
  for (let at = 0; at < data.length; at += 4) {
    // How bright the three colours look (Rec. 709).
    const light = Math.round(0.2126 * data[at]! + 0.7152 * data[at + 1]! + 0.0722 * data[at + 2]!)
    const colour = slope[light]!
    for (let channel = 0; channel < 3; channel++) {
      const own = picture.data[at + channel]!
      const tinted = own + (colour[channel]! - own) * strength.colours
      data[at + channel] = tinted + (scene.data[at + channel]! - tinted) * strength.scene
    }
  }
  return { ...picture, data }
}
