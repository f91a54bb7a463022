import type { Pixels } from '../../../files/codecs.ts'
import { type Random, seededRandom } from '../../seeded-random.ts'
import {
  createCanvas,
  finished,
  type Canvas,
  paintArea,
  paintBelow,
  paintDisc,
  raggedLine,
} from './canvas.ts'
import { along, blend, paletteFor, type Colour, type Palette } from './palette.ts'

/** How finely a picture is drawn. Finer pictures show the same scene. */
export type Detail = 1 | 2 | 3

interface SceneOptions {
  /** The seed of the scene. */
  readonly seed: readonly (string | number)[]
  readonly prompt: string
  readonly width: number
  readonly height: number
  readonly detail: Detail
  /** Vivid rather than muted colours. */
  readonly isVivid: boolean
}

/** A scene being painted. */
interface Scene {
  readonly canvas: Canvas
  readonly palette: Palette
  readonly detail: Detail
  /** Random numbers for one part of the scene, independent of the others: more trees must not move the sun. */
  chance(part: string): Random
}

/** The amount of noise, the texture of fine pictures. */
const grain = { 1: 0, 2: 1, 3: 5 } as const

const sea = /\b(sea|ocean|lake|boats?|ships?|sails?|beach|islands?|otter|whale|fish|water|waves?)\b/
const hills = /\b(hills?|mountains?|valley|forests?|trees?|fields?|landscape|woods?|dunes?|desert)\b/

/**
 * Draws a scene from the prompt: its words choose hills or a sea, and possibly the colours and the time of day; a hash
 * of its letters determines the rest. The same options produce the same pixels; about 50 ns per pixel.
 */
export function drawScene({ seed, prompt, width, height, detail, isVivid }: SceneOptions): Pixels {
  const chance = (part: string) => seededRandom(...seed, prompt, part)
  const palette = paletteFor(prompt, chance('palette'), isVivid)
  const canvas = createCanvas(width, height)
  const words = prompt.toLowerCase()
  const isSea = sea.test(words) || (!hills.test(words) && chance('kind')() < 0.5)
  const scene = { canvas, palette, detail, chance }
  if (isSea) paintSea(scene)
  else paintHills(scene)
  return finished(canvas, grain[detail])
}

/** Three colours of the scene, from dark to light. */
export function sceneColours({
  seed,
  prompt,
  isVivid,
}: Pick<SceneOptions, 'seed' | 'prompt' | 'isVivid'>): readonly Colour[] {
  const { near, far, sky, light } = paletteFor(prompt, seededRandom(...seed, prompt, 'palette'), isVivid)
  return [near, blend(sky[0]!, far, 0.5), light]
}

/** Scales a count by the level of detail. */
function count({ detail }: Scene, most: number): number {
  return Math.round(most * { 1: 0.3, 2: 0.65, 3: 1 }[detail])
}

const ridges = 6

/** Ridges in haze, the nearest ones wooded. */
function paintHills(scene: Scene): void {
  const { canvas, palette, detail, chance } = scene
  paintSky(scene, 0.62)
  const steepness = 0.6 + 0.8 * chance('ridges')()
  for (let ridge = 0; ridge < ridges; ridge++) {
    const nearness = ridge / (ridges - 1)
    const line = raggedLine(chance(`ridge ${ridge}`), 1 + 2 * detail)
    const level = 0.42 + 0.46 * nearness ** 1.25
    const height = (0.17 - 0.1 * nearness) * steepness
    const edgeAt = (x: number) =>
      canvas.tall * (level - height * line((x - canvas.wide / 2) * (3.2 - 1.4 * nearness)))
    const colour = blend(palette.far, palette.near, nearness ** 0.85)
    // Haze gathers in the valleys: every ridge fades towards the colour of the sky at its foot.
    const haze = blend(colour, palette.sky.at(-1)!, 0.6 * (1 - nearness))
    paintBelow(canvas, edgeAt, (depth) => blend(colour, haze, (depth / canvas.tall) * 3.2))
    if (ridge === ridges - 2)
      paintTrees(scene, 'far trees', edgeAt, blend(colour, palette.near, 0.6), 70, 0.03)
    if (ridge === ridges - 1) paintTrees(scene, 'near trees', edgeAt, palette.near, 46, 0.07)
  }
}

/** Fir trees along an edge. */
function paintTrees(
  scene: Scene,
  part: string,
  edgeAt: (x: number) => number,
  colour: Colour,
  most: number,
  size: number,
): void {
  const random = scene.chance(part)
  for (let tree = 0; tree < count(scene, most); tree++) {
    const x = random() * scene.canvas.wide
    const height = size * (0.5 + random())
    const width = height * 0.2
    const foot = edgeAt(x) + height * 0.12
    const area = { left: x - width, right: x + width, top: foot - height, bottom: foot }
    paintArea(scene.canvas, area, colour, (atX, y) => {
      const fromTop = 1 - (foot - y) / height
      // Branches: the outline steps in and out on its way down.
      const reach = width * (0.25 + 0.75 * ((fromTop * 5) % 1)) * (0.15 + 0.85 * fromTop)
      return (reach - Math.abs(atX - x)) * scene.canvas.unit + 0.5
    })
  }
}

/** Open water with islands, the light's path across it, and a few sails. */
function paintSea(scene: Scene): void {
  const { canvas, palette, detail, chance } = scene
  const share = 0.5 + 0.14 * chance('sea')()
  const horizon = share * canvas.tall
  const sun = paintSky(scene, share)
  for (let island = 0; island < 3; island++) {
    const line = raggedLine(chance(`island ${island}`), 2 + detail)
    const height = 0.07 - 0.015 * island
    const colour = blend(palette.far, palette.near, 0.1 + 0.18 * island)
    const edgeAt = (x: number) => horizon - Math.max(0, height * line(x * 2.2 + island * 19) - 0.012)
    paintBelow(canvas, edgeAt, () => colour)
  }
  const deep = blend(palette.sky[0]!, palette.near, 0.62)
  const shallow = blend(palette.sky.at(-1)!, palette.sky[0]!, 0.35)
  const depthOf = (depth: number) => depth / (canvas.tall - horizon) + 0.08
  paintBelow(
    canvas,
    () => horizon,
    (depth) => blend(shallow, deep, depthOf(depth)),
  )
  paintGlitter(scene, sun, horizon)
  paintSails(scene, horizon)
}

/** Short strokes of light, close together at the horizon and longer towards the viewer, brightest below the sun. */
function paintGlitter({ canvas, palette, detail, chance }: Scene, sun: Sun, horizon: number): void {
  const random = chance('glitter')
  const depth = canvas.tall - horizon
  for (let stroke = 0; stroke < 500 * detail; stroke++) {
    const near = random() ** 1.8
    const isOnPath = random() < 0.55
    const sway = (random() + random() + random() - 1.5) / 1.5
    const x = isOnPath ? sun.x + sway * canvas.wide * (0.05 + 0.2 * near) : random() * canvas.wide
    const y = horizon + 0.004 + depth * near
    const length = canvas.wide * (0.012 + 0.07 * near) * (0.4 + random())
    const height = canvas.tall * (0.0012 + 0.004 * near)
    const strength = (isOnPath ? 0.75 - 0.45 * Math.abs(sway) : 0.16) * (0.5 + 0.5 * random())
    const colour = isOnPath || random() < 0.5 ? palette.light : palette.near
    const area = { left: x - length, right: x + length, top: y - height, bottom: y + height }
    paintArea(canvas, area, colour, (atX, atY) => {
      const offset = Math.hypot((atX - x) / length, (atY - y) / height)
      return strength * (1 - offset * offset)
    })
  }
}

function paintSails({ canvas, palette, chance }: Scene, horizon: number): void {
  const random = chance('sails')
  const colour = blend(palette.light, palette.near, palette.isNight ? 0.6 : 0.06)
  for (let sail = 1 + Math.floor(random() * 3); sail > 0; sail--) {
    const near = random() * 0.5
    const x = (0.1 + 0.8 * random()) * canvas.wide
    const foot = horizon + 0.02 + (canvas.tall - horizon) * near * 0.6
    const height = 0.05 + 0.16 * near
    const width = height * 0.42
    const area = { left: x - width, right: x + width, top: foot - height, bottom: foot }
    const triangle = (reach: number) => (atX: number, y: number) => {
      const out = (atX - x) / reach
      return out < 0.04 ? 0 : ((1 - (foot - y) / height) * 0.92 - out) * Math.abs(reach) * canvas.unit
    }
    paintArea(canvas, area, colour, triangle(width))
    const jib = { ...area, top: foot - height * 0.85 }
    paintArea(canvas, jib, blend(colour, palette.near, 0.22), triangle(-width * 0.62))
    const hull = { ...area, top: foot + height * 0.03, bottom: foot + height * 0.15 }
    paintArea(canvas, hull, palette.near, (atX, y) => {
      return (width * (0.85 - ((y - foot) / height) * 2) - Math.abs(atX - x)) * canvas.unit
    })
  }
}

interface Sun {
  readonly x: number
  readonly y: number
  readonly radius: number
}

/**
 * Paints the sky down to the horizon, a share of the height, with a sun or a moon, stars at night and clouds by day.
 * @returns where the sun is
 */
function paintSky(scene: Scene, horizon: number): Sun {
  const { canvas, palette } = scene
  const random = scene.chance('sun')
  const [x, rise, radius] = [0.18 + random() * 0.64, random(), 0.05 + random() * 0.06]
  const y = horizon * (palette.isNight ? 0.25 + rise * 0.3 : 0.35 + rise * 0.45)
  const sun = { x: x * canvas.wide, y: y * canvas.tall, radius }
  const depth = horizon * canvas.tall
  paintBelow(
    canvas,
    () => 0,
    (down) => along(palette.sky, down / depth),
  )
  if (palette.isNight) paintStars(scene, depth)
  const colour = palette.light
  paintDisc(canvas, { ...sun, radius: radius * 7, colour, opacity: 0.28, softness: 1 })
  paintDisc(canvas, { ...sun, radius: radius * 2.4, colour, opacity: 0.45, softness: 1 })
  paintDisc(canvas, { ...sun, colour, opacity: 0.97 })
  if (palette.isNight) paintCraters(scene, sun)
  else paintClouds(scene, depth)
  return sun
}

function paintStars(scene: Scene, depth: number): void {
  const { canvas, palette } = scene
  const random = scene.chance('stars')
  for (let star = 0; star < count(scene, 260); star++) {
    const shine = { x: random() * canvas.wide, y: random() ** 1.4 * depth, colour: palette.light }
    const [size, brightness] = [random() ** 4, random()]
    const radius = 0.0008 + 0.0022 * size
    if (size > 0.6) paintDisc(canvas, { ...shine, radius: radius * 5, opacity: 0.3, softness: 1 })
    paintDisc(canvas, { ...shine, radius, opacity: 0.35 + 0.6 * brightness })
  }
}

function paintCraters(scene: Scene, moon: Sun): void {
  const { canvas, palette } = scene
  const random = scene.chance('craters')
  const colour = blend(palette.light, palette.sky[2]!, 0.22)
  for (let crater = 0; crater < count(scene, 8); crater++) {
    const [angle, reach] = [random() * 2 * Math.PI, random() * 0.7 * moon.radius]
    const position = { x: moon.x + Math.cos(angle) * reach, y: moon.y + Math.sin(angle) * reach }
    const radius = moon.radius * (0.08 + 0.14 * random())
    paintDisc(canvas, { ...position, radius, colour, opacity: 0.7, softness: 0.4 })
  }
}

function paintClouds({ canvas, palette, chance }: Scene, depth: number): void {
  const random = chance('clouds')
  const colour = blend(palette.sky.at(-1)!, palette.light, 0.6)
  const look = { colour, opacity: 0.2, softness: 0.9, flatness: 0.2 }
  for (let cloud = 0; cloud < 5; cloud++) {
    const x = random() * canvas.wide
    const [y, width] = [(0.12 + 0.6 * random()) * depth, 0.1 + 0.16 * random()]
    for (let puff = 0; puff < 9; puff++) {
      const position = random() * 2 - 1
      const centre = { x: x + position * width, y: y - random() * 0.02 }
      paintDisc(canvas, { ...centre, radius: width * (0.65 - 0.4 * Math.abs(position)), ...look })
    }
  }
}
