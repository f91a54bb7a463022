import type { Pixels } from '../../../files/codecs.ts'
import { pick, seededRandom } from '../../seeded-random.ts'
import { briefFor } from './brief.ts'
import type { Brief, Detail } from './brief.ts'
import { createCanvas, developed } from './canvas.ts'
import type { Canvas } from './canvas.ts'
import type { Colour } from './colour.ts'
import { paintHills } from './hills.ts'
import { paintLayers } from './layers.ts'
import { paletteFor } from './palette.ts'
import { paintSea } from './sea.ts'

export interface SceneOrder {
  /** What makes the scene repeatable. */
  readonly seed: readonly (string | number)[]
  readonly prompt: string
  readonly width: number
  readonly height: number
  readonly detail: Detail
  /** Strong colours rather than quiet ones. */
  readonly isVivid: boolean
}

/** The kinds of scene, each with the words that ask for it. */
const scenes: readonly { readonly words: RegExp; paint(canvas: Canvas, brief: Brief): void }[] = [
  { words: /\b(hills?|mountains?|valley|forests?|trees?|fields?|landscape|woods?)\b/, paint: paintHills },
  {
    words: /\b(sea|ocean|lake|boats?|ships?|sails?|beach|islands?|otter|whale|fish|water)\b/,
    paint: paintSea,
  },
  {
    words: /\b(waves?|dunes?|desert|paper|silk|layers?|stripes?|abstract|geometric|logo|icon)\b/,
    paint: paintLayers,
  },
]

/** How far pixels stray from smooth slopes: the texture of fine pictures. */
const grain = { 1: 0, 2: 1, 3: 5 } as const

/**
 * Draws a scene that the prompt decides: its words choose the kind, the colours and the time of day where they can,
 * chance from its letters the rest. The same order gives the same pixels; some 50 ns a pixel.
 */
export function drawScene(order: SceneOrder): Pixels {
  const { seed, prompt, width, height, detail } = order
  const { paint, palette } = planScene(order)
  const canvas = createCanvas(width, height)
  paint(canvas, briefFor([...seed, prompt], palette, detail))
  return developed(canvas, grain[detail])
}

/** Three colours of the scene, from dark to light. */
export function sceneColours(order: Pick<SceneOrder, 'seed' | 'prompt' | 'isVivid'>): readonly Colour[] {
  const { near, tints, light } = planScene(order).palette
  return [near, tints[2]!, light]
}

function planScene({ seed, prompt, isVivid }: Pick<SceneOrder, 'seed' | 'prompt' | 'isVivid'>) {
  const random = seededRandom(...seed, prompt, 'scene')
  const anyScene = pick(random, scenes)
  const { paint } = scenes.find(({ words }) => words.test(prompt.toLowerCase())) ?? anyScene
  return { paint, palette: paletteFor(prompt, random, isVivid) }
}
