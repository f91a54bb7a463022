import type { Pixels } from '../../../files/codecs.ts'
import type { Colour } from './palette.ts'
import type { Random } from '../../seeded-random.ts'

/** A picture while it is painted: three numbers a pixel, finer than bytes, so that slopes of colour have no steps. */
export interface Canvas {
  readonly width: number
  readonly height: number
  /** The shorter side in pixels: what sizes are measured in, so that every size shows the same picture. */
  readonly unit: number
  readonly values: Float32Array
}

export function createCanvas(width: number, height: number): Canvas {
  return { width, height, unit: Math.min(width, height), values: new Float32Array(width * height * 3) }
}

/** Lays a colour over one pixel; `cover` is 0 for nothing, 1 for all of it. */
function cover({ values }: Canvas, pixel: number, colour: Colour, share: number): void {
  const at = pixel * 3
  values[at]! += (colour[0] - values[at]!) * share
  values[at + 1]! += (colour[1] - values[at + 1]!) * share
  values[at + 2]! += (colour[2] - values[at + 2]!) * share
}

/** Paints every row in one colour; `down` is 0 at the top and 1 at the bottom. */
export function paintRows(canvas: Canvas, colourAt: (down: number) => Colour): void {
  const { width, height } = canvas
  for (let y = 0; y < height; y++) {
    const colour = colourAt(y / (height - 1))
    for (let x = 0; x < width; x++) cover(canvas, y * width + x, colour, 1)
  }
}

interface Slope {
  /** Height of the edge at a column: 0 is the top of the picture, 1 its bottom. `across` is 0 to 1. */
  edgeAt(across: number): number
  /** The colour at a depth below the edge, in heights of the picture. */
  colourAt(depth: number): Colour
  /** Strength and reach (in units) of the shadow that falls on what lies behind. */
  readonly shadow?: { readonly strength: number; readonly reach: number }
}

const shadowColour: Colour = [10, 12, 30]
const depthSteps = 256

/** Paints everything below an edge, the edge itself smoothly. */
export function paintBelow(canvas: Canvas, { edgeAt, colourAt, shadow }: Slope): void {
  const { width, height, unit } = canvas
  const colours = Array.from({ length: depthSteps }, (_, step) => colourAt(step / (depthSteps - 1)))
  const reach = shadow === undefined ? 0 : shadow.reach * unit
  for (let x = 0; x < width; x++) {
    const edge = edgeAt(x / (width - 1)) * height
    const first = Math.max(0, Math.floor(edge - reach))
    for (let y = first; y < height; y++) {
      const pixel = y * width + x
      const share = y + 1 - edge
      if (share < 1 && shadow !== undefined) {
        const nearness = 1 - (edge - y) / reach
        if (nearness > 0) cover(canvas, pixel, shadowColour, shadow.strength * Math.min(1, nearness) ** 2)
      }
      if (share <= 0) continue
      const step = Math.min(depthSteps - 1, Math.floor(((y - edge) / height) * depthSteps))
      cover(canvas, pixel, colours[Math.max(0, step)]!, Math.min(1, share))
    }
  }
}

interface Disc {
  /** Centre: shares of width and height. */
  readonly x: number
  readonly y: number
  /** In units. */
  readonly radius: number
  readonly colour: Colour
  /** 1 when left out. */
  readonly opacity?: number
  /** How much of the radius fades away: 0, the default, is a sharp edge; 1 a glow. */
  readonly softness?: number
  /** Height as a share of the width; 1 when left out. */
  readonly flatness?: number
}

/** Paints a disc or a glow. */
export function paintDisc(canvas: Canvas, disc: Disc): void {
  const { width, height, unit } = canvas
  const { opacity = 1, softness = 0, flatness = 1 } = disc
  const radius = disc.radius * unit
  const [centreX, centreY] = [disc.x * width, disc.y * height]
  const [top, bottom] = [centreY - radius * flatness - 1, centreY + radius * flatness + 1]
  // One pixel of fading is what makes an edge smooth.
  const fade = Math.max(1, radius * softness)
  for (let y = Math.max(0, Math.floor(top)); y < Math.min(height, bottom); y++) {
    for (
      let x = Math.max(0, Math.floor(centreX - radius - 1));
      x < Math.min(width, centreX + radius + 1);
      x++
    ) {
      const distance = Math.hypot(x + 0.5 - centreX, (y + 0.5 - centreY) / flatness)
      const inside = Math.min(1, (radius + 0.5 - distance) / fade)
      if (inside <= 0) continue
      const smooth = softness === 0 ? inside : inside * inside * (3 - 2 * inside)
      cover(canvas, y * width + x, disc.colour, smooth * opacity)
    }
  }
}

/** Paints a rectangle of pixels by a share that a function tells. Measures are shares of width and height. */
export function paintArea(
  canvas: Canvas,
  { top, bottom, left = 0, right = 1 }: { top: number; bottom: number; left?: number; right?: number },
  colour: Colour,
  shareAt: (across: number, down: number) => number,
): void {
  const { width, height } = canvas
  for (let y = Math.max(0, Math.floor(top * height)); y < Math.min(height, bottom * height); y++) {
    for (let x = Math.max(0, Math.floor(left * width)); x < Math.min(width, right * width); x++) {
      const share = shareAt(x / width, y / height)
      if (share > 0) cover(canvas, y * width + x, colour, Math.min(1, share))
    }
  }
}

/**
 * The finished picture, opaque.
 * @param grain how far a pixel may stray by chance, in steps of 0 to 255: hides the steps between bytes, and is the
 *   texture of a fine picture
 */
export function developed({ width, height, values }: Canvas, grain: number): Pixels {
  const data = new Uint8ClampedArray(width * height * 4)
  for (let pixel = 0; pixel < width * height; pixel++) {
    // Chance from the place alone (an integer hash), so that the picture is the same every time.
    let hash = Math.imul(pixel ^ 0x9e3779b9, 0x85ebca6b)
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
    const stray = (((hash ^ (hash >>> 16)) >>> 0) / 4_294_967_296 - 0.5) * grain
    data[pixel * 4] = values[pixel * 3]! + stray
    data[pixel * 4 + 1] = values[pixel * 3 + 1]! + stray
    data[pixel * 4 + 2] = values[pixel * 3 + 2]! + stray
    data[pixel * 4 + 3] = 255
  }
  return { data, width, height }
}

/** A smooth line of chance around 0, between about -1 and 1. */
type Line = (place: number) => number

const samples = 256

/**
 * A ragged line such as a ridge: several smooth lines on top of each other, each twice as fine and half as high.
 * The coarse ones stay the same when finer ones are added.
 * @param octaves how many
 */
export function raggedLine(random: Random, octaves: number): Line {
  const heights = Array.from({ length: samples }, () => random() * 2 - 1)
  const start = random() * samples
  const smooth = (place: number) => {
    const floor = Math.floor(place)
    const share = place - floor
    const from = heights[((floor % samples) + samples) % samples]!
    const to = heights[(((floor + 1) % samples) + samples) % samples]!
    return from + (to - from) * share * share * (3 - 2 * share)
  }
  return (place) => {
    let sum = 0
    let weight = 1
    for (let octave = 0; octave < octaves; octave++) {
      sum += smooth(start + place * 2 ** octave + octave * 37.3) * weight
      weight /= 2
    }
    return sum / 1.6
  }
}
