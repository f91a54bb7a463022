import type { Pixels } from '../../../files/codecs.ts'
import { pick, seededRandom } from '../../seeded-random.ts'
import { briefFor, type Brief, type Detail, type Colour, paletteFor, along, blend } from './palette.ts'
import {
  createCanvas,
  developed,
  type Canvas,
  paintBelow,
  paintDisc,
  paintRows,
  raggedLine,
} from './canvas.ts'
import { paintHills, paintSea } from './landscape.ts'

interface SceneOrder {
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

const sheets = 9

/** Waves of coloured paper, each casting a shadow on the one behind it. */
function paintLayers(canvas: Canvas, brief: Brief): void {
  const { palette, detail } = brief
  const random = brief.chance('layers')
  const { tints } = palette
  const slope = palette.isNight
    ? [tints[4]!, tints[2]!, tints[3]!, tints[1]!]
    : [tints[1]!, tints[2]!, tints[3]!, tints[4]!]
  const sky = palette.isNight ? blend(tints[4]!, [0, 0, 0], 0.45) : tints[0]!
  paintRows(canvas, (down) => blend(sky, slope[0]!, down * 0.5))
  const sun = { x: 0.2 + 0.6 * random(), y: 0.16 + 0.12 * random() }
  paintDisc(canvas, { ...sun, radius: 0.26, colour: palette.light, opacity: 0.35, softness: 1 })
  paintDisc(canvas, {
    ...sun,
    radius: 0.1 + 0.05 * random(),
    colour: blend(tints[3]!, palette.light, palette.isNight ? 0.8 : 0.25),
  })
  for (let sheet = 0; sheet < sheets; sheet++) {
    const nearness = sheet / (sheets - 1)
    const wander = raggedLine(brief.chance(`sheet ${sheet}`), detail)
    const [phase, length] = [random() * 2 * Math.PI, 0.8 + 1.4 * random()]
    const level = 0.3 + 0.66 * nearness
    const height = 0.035 + 0.045 * random()
    const colour = along(slope, nearness)
    paintBelow(canvas, {
      edgeAt: (across) => {
        const place = ((across - 0.5) * canvas.width) / canvas.unit
        return level + height * Math.sin(place * length * 4 + phase) + 0.03 * wander(place * 1.6 + sheet)
      },
      colourAt: (depth) => blend(blend(colour, palette.light, 0.16), colour, depth * 9),
      shadow: { strength: 0.34, reach: 0.03 },
    })
  }
}
