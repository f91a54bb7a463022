import type { Pixels } from '../../../files/codecs.ts'

/**
 * Lays one picture over another of the same size.
 * @param shareAt how much of the upper one shows at a pixel, 0 to 1; 0 leaves the lower one exactly as it is
 */
export function compose(lower: Pixels, upper: Pixels, shareAt: (pixel: number) => number): Pixels {
  const data = new Uint8ClampedArray(lower.data)
  for (let pixel = 0; pixel < lower.width * lower.height; pixel++) {
    const share = shareAt(pixel)
    if (share <= 0) continue
    const at = pixel * 4
    // Colours count by their alpha.
    const above = upper.data[at + 3]! * share
    const below = lower.data[at + 3]! * (1 - share)
    const alpha = above + below
    if (alpha > 0) {
      for (let channel = at; channel < at + 3; channel++) {
        data[channel] = (upper.data[channel]! * above + lower.data[channel]! * below) / alpha
      }
    }
    data[at + 3] = alpha
  }
  return { ...lower, data }
}

/** The picture on white: what a format or a background without transparency shows. */
export function onWhite(picture: Pixels): Pixels {
  if (!hasTransparency(picture)) return picture
  const data = new Uint8ClampedArray(picture.data)
  for (let at = 0; at < data.length; at += 4) {
    const alpha = data[at + 3]! / 255
    for (let channel = at; channel < at + 3; channel++) data[channel] = 255 + (data[channel]! - 255) * alpha
    data[at + 3] = 255
  }
  return { ...picture, data }
}

export function hasTransparency({ data }: Pixels): boolean {
  for (let at = 3; at < data.length; at += 4) if (data[at] !== 255) return true
  return false
}

/** The middle of a picture as a round badge on nothing. */
export function cutOut(picture: Pixels): Pixels {
  const { width, height } = picture
  const data = new Uint8ClampedArray(picture.data)
  const radius = Math.min(width, height) * 0.47
  const [straightX, straightY] = [Math.max(0, (width - height) / 2), Math.max(0, (height - width) / 2)]
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const beyondX = Math.max(0, Math.abs(x + 0.5 - width / 2) - straightX)
      const beyondY = Math.max(0, Math.abs(y + 0.5 - height / 2) - straightY)
      const inside = Math.min(1, Math.max(0, radius - Math.hypot(beyondX, beyondY) + 0.5))
      data[(y * width + x) * 4 + 3] = Math.round(data[(y * width + x) * 4 + 3]! * inside)
    }
  }
  return { ...picture, data }
}
