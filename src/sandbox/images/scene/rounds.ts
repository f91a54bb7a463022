import type { Brief } from './brief.ts'
import { count } from './brief.ts'
import { paintArea, paintDisc, paintRows } from './canvas.ts'
import type { Canvas } from './canvas.ts'
import { along, blend } from './colour.ts'

/** An abstract of discs, rings and lines. */
export function paintRounds(canvas: Canvas, brief: Brief): void {
  const { palette, detail } = brief
  const random = brief.chance('rounds')
  const { tints } = palette
  const ground = palette.isNight
    ? [tints[4]!, blend(tints[4]!, tints[2]!, 0.35)]
    : [tints[0]!, blend(tints[0]!, tints[1]!, 0.35)]
  paintRows(canvas, (down) => along(ground, down))
  const marks = palette.isNight ? tints.slice(0, 4) : tints.slice(1)
  for (let disc = 0; disc < 11; disc++) {
    const large = (1 - disc / 11) ** 1.6
    const place = { x: 0.08 + 0.84 * random(), y: 0.08 + 0.84 * random() }
    const radius = 0.03 + 0.33 * large * (0.6 + 0.6 * random())
    const colour = marks[Math.floor(random() * marks.length)]!
    const isRing = random() < 0.3
    const thickness = 0.008 + 0.03 * random()
    paintDisc(canvas, {
      ...place,
      radius,
      colour,
      opacity: disc < 4 ? 0.82 : 0.9,
      ...(isRing && disc > 1 && { ring: thickness }),
    })
    // Light from one side gives the large ones volume.
    if (!isRing && detail > 1 && radius > 0.09) {
      const x = place.x - (0.35 * radius * canvas.unit) / canvas.width
      const y = place.y - (0.35 * radius * canvas.unit) / canvas.height
      paintDisc(canvas, { x, y, radius: radius * 0.62, colour: tints[0]!, opacity: 0.3, softness: 1 })
    }
  }
  paintLines(canvas, brief)
  for (let dot = 0; dot < count(detail, 40); dot++) {
    const colour = marks[Math.floor(random() * marks.length)]!
    paintDisc(canvas, {
      x: random(),
      y: random(),
      radius: 0.002 + 0.007 * random() ** 2,
      colour,
      opacity: 0.9,
    })
  }
}

function paintLines(canvas: Canvas, brief: Brief): void {
  const random = brief.chance('lines')
  const colour = brief.palette.isNight ? brief.palette.tints[0]! : brief.palette.tints[4]!
  for (let line = 0; line < 1 + brief.detail; line++) {
    const [angle, offset, thickness] = [random() * Math.PI, random() * 0.7 + 0.15, 0.0012 + 0.002 * random()]
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)]
    paintArea(canvas, { top: 0, bottom: 1 }, colour, (across, down) => {
      const x = ((across - 0.5) * canvas.width) / canvas.unit
      const y = ((down - offset) * canvas.height) / canvas.unit
      return (thickness - Math.abs(x * sin - y * cos)) * canvas.unit + 0.5
    })
  }
}
