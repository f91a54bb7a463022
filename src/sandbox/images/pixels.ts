import type { Pixels } from '../../files/codecs.ts'
import { along, type Colour } from './scene/palette.ts'

/**
 * Blends one picture over another of the same size.
 * @param shares the opacity of the upper one at each pixel, 0 to 1; 0 leaves the lower one exactly as it is
 */
export function compose(lower: Pixels, upper: Pixels, shares: Float32Array): Pixels {
  const data = new Uint8ClampedArray(lower.data)
  for (const [pixel, share] of shares.entries()) {
    if (share <= 0) continue
    const at = pixel * 4
    // Weight colours by alpha.
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

/** The picture on white, for a format or a background without transparency. */
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

/** The middle of a picture as a round badge on a transparent background. */
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

interface Repainting {
  /** Colours from dark to light. */
  readonly colours: readonly Colour[]
  /** A picture of the same size that shows through. */
  readonly scene: Pixels
  /** From 0, which changes nothing, to 1, which leaves none of its own colours, or only the scene. */
  readonly strength: { readonly colours: number; readonly scene: number }
}

/** Recolours a whole picture: keeps its brightness and alpha. */
export function repaint(picture: Pixels, { colours, scene, strength }: Repainting): Pixels {
  const slope = Array.from({ length: 256 }, (_, light) => along(colours, light / 255))
  const data = new Uint8ClampedArray(picture.data)
  for (let at = 0; at < data.length; at += 4) {
    // Luma weights (Rec. 709).
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

/** A part of a picture, in pixels; may be fractional. */
interface Area {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
}

/** Scales a part of a picture, smoothly in both directions. */
function resize(picture: Pixels, area: Area, width: number, height: number): Pixels {
  const columns = taps(area.left, area.width, picture.width, width)
  const rows = taps(area.top, area.height, picture.height, height)
  // Weight colours by alpha, so that there are no dark edges.
  const turned = scaleAcross(picture.data, picture.height, picture.width, columns, true)
  const values = scaleAcross(turned, width, picture.height, rows, false)
  const data = new Uint8ClampedArray(width * height * 4)
  for (let at = 0; at < data.length; at += 4) {
    const alpha = values[at + 3]!
    data[at + 3] = alpha
    for (let channel = at; alpha > 0 && channel < at + 3; channel++) data[channel] = values[channel]! / alpha
  }
  return { data, width, height }
}

/** Scales every row of a picture and transposes it. @param weighs whether to multiply colours by their alpha */
function scaleAcross(
  data: Float32Array | Uint8ClampedArray,
  rows: number,
  columns: number,
  across: readonly Taps[],
  weighs: boolean,
): Float32Array {
  const scaled = new Float32Array(across.length * rows * 4)
  let to = 0
  for (const { first, weights } of across) {
    for (let row = 0; row < rows; row++, to += 4) {
      let from = (row * columns + first) * 4
      for (const weight of weights) {
        const share = weighs ? data[from + 3]! * weight : weight
        scaled[to]! += data[from]! * share
        scaled[to + 1]! += data[from + 1]! * share
        scaled[to + 2]! += data[from + 2]! * share
        scaled[to + 3]! += data[from + 3]! * weight
        from += 4
      }
    }
  }
  return scaled
}

interface Taps {
  /** The first source pixel for this one, and the weights from there on, which add up to 1. */
  readonly first: number
  readonly weights: readonly number[]
}

/** A triangle filter as wide as one pixel of the coarser picture. */
function taps(start: number, length: number, available: number, wanted: number): readonly Taps[] {
  const scale = length / wanted
  const reach = Math.max(1, scale)
  return Array.from({ length: wanted }, (_, index) => {
    const centre = start + (index + 0.5) * scale - 0.5
    const first = Math.min(available - 1, Math.max(0, Math.ceil(centre - reach)))
    const last = Math.max(first, Math.min(available - 1, Math.floor(centre + reach)))
    const weights = Array.from({ length: last - first + 1 }, (__, tap) =>
      Math.max(0, 1 - Math.abs(first + tap - centre) / reach),
    )
    const sum = weights.reduce((total, weight) => total + weight, 0)
    return { first, weights: sum === 0 ? [1] : weights.map((weight) => weight / sum) }
  })
}

/** Width and height in pixels. */
export interface Size {
  readonly width: number
  readonly height: number
}

/** The largest centred part of a picture with the given aspect ratio. */
function middleOf(picture: Size, wanted: Size): Area {
  const scale = Math.min(picture.width / wanted.width, picture.height / wanted.height)
  const [width, height] = [wanted.width * scale, wanted.height * scale]
  return { left: (picture.width - width) / 2, top: (picture.height - height) / 2, width, height }
}

/** Scales and crops a picture to fill a size; unchanged if it already has that size. */
export function fit(picture: Pixels, size: Size): Pixels {
  if (picture.width === size.width && picture.height === size.height) return picture
  return resize(picture, middleOf(picture, size), size.width, size.height)
}

/** A picture at a low resolution along its shorter side, as in a partial image. */
export function soften(picture: Pixels, points: number): Pixels {
  const { width, height } = picture
  const scale = Math.min(1, points / Math.min(width, height))
  const [fewWide, fewHigh] = [Math.ceil(width * scale), Math.ceil(height * scale)]
  const small = resize(picture, { left: 0, top: 0, width, height }, fewWide, fewHigh)
  return resize(small, { left: 0, top: 0, width: fewWide, height: fewHigh }, width, height)
}

/**
 * Where a mask lets an edit through, for every pixel of the result: 0 where its alpha is above zero, 1 where it is
 * zero (specification, endpoint 6, `mask`), less near the edge of the opening, so that the edit blends in.
 * @param mask of the source's dimensions; it is fitted to the result as the source is
 */
export function maskOpening(mask: Pixels, { width, height }: Size): Float32Array {
  const area = middleOf(mask, { width, height })
  // Distances to the nearest closed pixel, found in one pass forward and one back.
  const far = width + height
  const distances = new Float32Array(width * height)
  for (let y = 0; y < height; y++) {
    const row = Math.floor(area.top + ((y + 0.5) * area.height) / height)
    for (let x = 0; x < width; x++) {
      const column = Math.floor(area.left + ((x + 0.5) * area.width) / width)
      const isOpen = mask.data[(row * mask.width + column) * 4 + 3] === 0
      const before = Math.min(
        x === 0 ? far : distances[y * width + x - 1]!,
        y === 0 ? far : distances[(y - 1) * width + x]!,
      )
      distances[y * width + x] = isOpen ? before + 1 : 0
    }
  }
  const feather = Math.max(1, Math.min(width, height) / 80)
  for (let at = width * height - 1; at >= 0; at--) {
    const right = at % width === width - 1 ? far : distances[at + 1]!
    const below = at >= width * (height - 1) ? far : distances[at + width]!
    distances[at] = Math.min(distances[at]!, right + 1, below + 1)
  }
  return distances.map((distance) => Math.min(1, distance / feather))
}
