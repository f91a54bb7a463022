import type { Brief } from './brief.ts'
import { paintArea, paintBelow } from './canvas.ts'
import type { Canvas } from './canvas.ts'
import { blend } from './colour.ts'
import { raggedLine } from './noise.ts'
import { paintSky } from './sky.ts'
import type { Sun } from './sky.ts'

/** Open water with islands, the light's path across it, and a few sails. */
export function paintSea(canvas: Canvas, brief: Brief): void {
  const { palette, detail } = brief
  const random = brief.chance('sea')
  const horizon = 0.5 + 0.14 * random()
  const sun = paintSky(canvas, brief, horizon)
  for (let island = 0; island < 3; island++) {
    const line = raggedLine(brief.chance(`island ${island}`), 2 + detail)
    const height = 0.07 - 0.015 * island
    const colour = blend(palette.far, palette.near, 0.1 + 0.18 * island)
    const edgeAt = (across: number) => {
      const rise = height * line((across * canvas.width * 2.2) / canvas.unit + island * 19) - 0.012
      return rise > 0 ? horizon - rise : 1.1
    }
    paintBelow(canvas, { edgeAt, colourAt: () => colour })
  }
  const deep = blend(palette.sky[0]!, palette.near, 0.62)
  const shallow = blend(palette.sky.at(-1)!, palette.sky[0]!, 0.35)
  paintBelow(canvas, {
    edgeAt: () => horizon,
    colourAt: (depth) => blend(shallow, deep, depth / (1 - horizon) + 0.08),
  })
  paintGlitter(canvas, brief, sun, horizon)
  paintSails(canvas, brief, horizon)
}

/** Short strokes of light, close together at the horizon and longer towards the viewer, brightest below the sun. */
function paintGlitter(canvas: Canvas, brief: Brief, sun: Sun, horizon: number): void {
  const { palette, detail, chance } = brief
  const random = chance('glitter')
  const strokes = 500 * detail
  for (let stroke = 0; stroke < strokes; stroke++) {
    const near = random() ** 1.8
    const isOnPath = random() < 0.55
    const sway = (random() + random() + random() - 1.5) / 1.5
    const x = isOnPath ? sun.x + sway * (0.05 + 0.2 * near) : random()
    const y = horizon + 0.004 + (1 - horizon) * near
    const length = (0.012 + 0.07 * near) * (0.4 + random())
    const height = 0.0012 + 0.004 * near
    const strength = (isOnPath ? 0.75 - 0.45 * Math.abs(sway) : 0.16) * (0.5 + 0.5 * random())
    const colour = isOnPath || random() < 0.5 ? palette.light : palette.near
    paintArea(
      canvas,
      { top: y - height, bottom: y + height, left: x - length, right: x + length },
      colour,
      (across, down) => {
        const offset = Math.hypot((across - x) / length, (down - y) / height)
        return offset < 1 ? strength * (1 - offset * offset) : 0
      },
    )
  }
}

function paintSails(canvas: Canvas, brief: Brief, horizon: number): void {
  const random = brief.chance('sails')
  const sails = 1 + Math.floor(random() * 3)
  const { palette } = brief
  for (let sail = 0; sail < sails; sail++) {
    const near = random() * 0.5
    const x = 0.1 + 0.8 * random()
    const foot = horizon + 0.02 + (1 - horizon) * near * 0.6
    const height = ((0.05 + 0.16 * near) * canvas.unit) / canvas.height
    const width = (height * 0.42 * canvas.height) / canvas.width
    const colour = palette.isNight
      ? blend(palette.near, palette.light, 0.35)
      : blend(palette.light, palette.tints[1]!, 0.12)
    const triangle = (side: number, scale: number) => (across: number, down: number) => {
      const fromTop = (down - foot + height) / height
      const out = ((across - x) * side) / (width * scale)
      return out < 0.04 ? 0 : (fromTop * 0.92 - out) * width * scale * canvas.width
    }
    const box = { top: foot - height, bottom: foot, left: x - width, right: x + width }
    paintArea(canvas, box, colour, triangle(1, 1))
    paintArea(
      canvas,
      { ...box, top: foot - height * 0.85 },
      blend(colour, palette.near, 0.22),
      triangle(-1, 0.62),
    )
    paintArea(
      canvas,
      { top: foot + height * 0.03, bottom: foot + height * 0.15, left: x - width, right: x + width },
      palette.near,
      (across, down) => (width * (0.85 - ((down - foot) / height) * 2) - Math.abs(across - x)) * canvas.width,
    )
  }
}
