import type { Pixels } from '../../../files/codecs.ts'
import type { Random } from '../../seeded-random.ts'
import type { Colour } from './palette.ts'

/** A picture being painted: three numbers per pixel, finer than bytes, so that gradients have no steps. */
export interface Canvas {
  readonly width: number
  readonly height: number
  /** Pixels of the shorter side: all lengths are relative to it, so that every size shows the same picture. */
  readonly unit: number
  /** Width and height in units. */
  readonly wide: number
  readonly tall: number
  readonly values: Float32Array
}

export function createCanvas(width: number, height: number): Canvas {
  const unit = Math.min(width, height)
  const values = new Float32Array(width * height * 3)
  return { width, height, unit, wide: width / unit, tall: height / unit, values }
}

/** Blends a colour into one pixel; share 0 has no effect, 1 replaces it. */
function cover({ values }: Canvas, pixel: number, colour: Colour, share: number): void {
  const at = pixel * 3
  values[at]! += (colour[0] - values[at]!) * share
  values[at + 1]! += (colour[1] - values[at + 1]!) * share
  values[at + 2]! += (colour[2] - values[at + 2]!) * share
}

const depthSteps = 256

/**
 * Paints everything below an edge, with antialiasing.
 * @param edgeAt height of the edge at a column, from the top
 * @param colourAt the colour at a depth below the edge
 */
export function paintBelow(
  canvas: Canvas,
  edgeAt: (x: number) => number,
  colourAt: (depth: number) => Colour,
): void {
  const { width, height, unit, tall } = canvas
  const colours = Array.from({ length: depthSteps }, (_, step) => colourAt((tall * step) / depthSteps))
  for (let x = 0; x < width; x++) {
    const edge = edgeAt((x + 0.5) / unit) * unit
    for (let y = Math.max(0, Math.floor(edge)); y < height; y++) {
      const step = Math.max(0, Math.floor(((y - edge) / height) * depthSteps))
      cover(canvas, y * width + x, colours[Math.min(step, depthSteps - 1)]!, Math.min(1, y + 1 - edge))
    }
  }
}

/** Paints a rectangle with the opacity that a function returns for the centre of every pixel. */
export function paintArea(
  canvas: Canvas,
  { left, right, top, bottom }: { left: number; right: number; top: number; bottom: number },
  colour: Colour,
  shareAt: (x: number, y: number) => number,
): void {
  const { width, height, unit } = canvas
  for (let y = Math.max(0, Math.floor(top * unit)); y < Math.min(height, bottom * unit); y++) {
    for (let x = Math.max(0, Math.floor(left * unit)); x < Math.min(width, right * unit); x++) {
      const share = shareAt((x + 0.5) / unit, (y + 0.5) / unit)
      if (share > 0) cover(canvas, y * width + x, colour, Math.min(1, share))
    }
  }
}

interface Disc {
  readonly x: number
  readonly y: number
  readonly radius: number
  readonly colour: Colour
  /** 1 when left out. */
  readonly opacity?: number
  /** The part of the radius that fades out: 0, the default, is a sharp edge; 1 a glow. */
  readonly softness?: number
  /** Height as a share of the width; 1 when left out. */
  readonly flatness?: number
}

/** Paints a disc or a glow. */
export function paintDisc(canvas: Canvas, disc: Disc): void {
  const { x, y, radius, colour, opacity = 1, softness = 0, flatness = 1 } = disc
  const pixel = 1 / canvas.unit
  // At least one pixel of fading, for antialiasing.
  const fade = Math.max(pixel, radius * softness)
  const [across, down] = [radius + pixel, radius * flatness + pixel]
  const area = { left: x - across, right: x + across, top: y - down, bottom: y + down }
  paintArea(canvas, area, colour, (atX, atY) => {
    const distance = Math.hypot(atX - x, (atY - y) / flatness)
    const inside = Math.min(1, Math.max(0, (radius + pixel / 2 - distance) / fade))
    return opacity * (softness === 0 ? inside : inside * inside * (3 - 2 * inside))
  })
}

/**
 * The finished picture, opaque.
 * @param grain maximum noise in steps of 0 to 255: hides banding, and is the texture of a fine picture
 */
export function finished({ width, height, values }: Canvas, grain: number): Pixels {
  const data = new Uint8ClampedArray(width * height * 4)
  for (let pixel = 0; pixel < width * height; pixel++) {
    // Noise from the position alone (an integer hash), so that the picture is the same every time.
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

const samples = 256

/**
 * A ragged line such as a ridge, around 0 and between about -1 and 1: a sum of smooth lines, each twice as fine and
 * half as high as the previous one. Adding octaves does not change the coarser ones.
 * @param octaves how many
 */
export function raggedLine(random: Random, octaves: number): (position: number) => number {
  const heights = Array.from({ length: samples }, () => random() * 2 - 1)
  const start = random() * samples
  const heightAt = (position: number) => heights[((position % samples) + samples) % samples]!
  const smooth = (position: number) => {
    const floor = Math.floor(position)
    const share = position - floor
    return heightAt(floor) + (heightAt(floor + 1) - heightAt(floor)) * share * share * (3 - 2 * share)
  }
  return (position) => {
    let sum = 0
    for (let octave = 0; octave < octaves; octave++) {
      sum += smooth(start + position * 2 ** octave + octave * 37.3) / 2 ** octave
    }
    return sum / 1.6
  }
}
