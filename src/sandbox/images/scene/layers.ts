import type { Brief } from './brief.ts'
import { paintBelow, paintDisc, paintRows } from './canvas.ts'
import type { Canvas } from './canvas.ts'
import { along, blend } from './colour.ts'
import { raggedLine } from './noise.ts'

const sheets = 9

/** Waves of coloured paper, each casting a shadow on the one behind it. */
export function paintLayers(canvas: Canvas, brief: Brief): void {
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
