import { count } from './brief.ts'
import type { Brief } from './brief.ts'
import { paintDisc, paintRows } from './canvas.ts'
import type { Canvas } from './canvas.ts'
import { along, blend } from './colour.ts'

export interface Sun {
  readonly x: number
  readonly y: number
  readonly radius: number
}

/**
 * Paints the sky down to the horizon with a sun or a moon, stars at night and clouds by day.
 * @returns where the sun is
 */
export function paintSky(canvas: Canvas, brief: Brief, horizon: number): Sun {
  const { palette } = brief
  const random = brief.chance('sun')
  const sun = {
    x: 0.18 + random() * 0.64,
    y: horizon * (palette.isNight ? 0.25 + random() * 0.3 : 0.35 + random() * 0.45),
    radius: 0.05 + random() * 0.06,
  }
  paintRows(canvas, (down) => along(palette.sky, down / horizon))
  if (palette.isNight) paintStars(canvas, brief, horizon)
  paintDisc(canvas, { ...sun, radius: sun.radius * 7, colour: palette.light, opacity: 0.28, softness: 1 })
  paintDisc(canvas, { ...sun, radius: sun.radius * 2.4, colour: palette.light, opacity: 0.45, softness: 1 })
  paintDisc(canvas, { ...sun, colour: palette.light, opacity: 0.97 })
  if (palette.isNight) paintCraters(canvas, brief, sun)
  else paintClouds(canvas, brief, horizon)
  return sun
}

function paintStars(canvas: Canvas, brief: Brief, horizon: number): void {
  const random = brief.chance('stars')
  for (let star = 0; star < count(brief.detail, 260); star++) {
    const [x, y, size, brightness] = [random(), random() ** 1.4 * horizon, random() ** 4, random()]
    const radius = 0.0008 + 0.0022 * size
    const shine = { x, y, colour: brief.palette.light }
    if (size > 0.6) paintDisc(canvas, { ...shine, radius: radius * 5, opacity: 0.3, softness: 1 })
    paintDisc(canvas, { ...shine, radius, opacity: 0.35 + 0.6 * brightness })
  }
}

function paintCraters(canvas: Canvas, brief: Brief, moon: Sun): void {
  const random = brief.chance('craters')
  const colour = blend(brief.palette.light, brief.palette.sky[2]!, 0.22)
  for (let crater = 0; crater < count(brief.detail, 8); crater++) {
    const [angle, reach] = [random() * 2 * Math.PI, random() * 0.7 * moon.radius]
    const x = moon.x + (Math.cos(angle) * reach * canvas.unit) / canvas.width
    const y = moon.y + (Math.sin(angle) * reach * canvas.unit) / canvas.height
    paintDisc(canvas, {
      x,
      y,
      radius: moon.radius * (0.08 + 0.14 * random()),
      colour,
      opacity: 0.7,
      softness: 0.4,
    })
  }
}

function paintClouds(canvas: Canvas, brief: Brief, horizon: number): void {
  const random = brief.chance('clouds')
  const colour = blend(brief.palette.sky.at(-1)!, brief.palette.light, 0.6)
  for (let cloud = 0; cloud < 5; cloud++) {
    const [x, y, width] = [random(), (0.12 + 0.6 * random()) * horizon, 0.1 + 0.16 * random()]
    for (let puff = 0; puff < 9; puff++) {
      const place = random() * 2 - 1
      paintDisc(canvas, {
        x: x + (place * width * canvas.unit) / canvas.width,
        y: y - (random() * 0.02 * canvas.unit) / canvas.height,
        radius: width * (0.65 - 0.4 * Math.abs(place)),
        flatness: 0.2,
        colour,
        opacity: 0.2,
        softness: 0.9,
      })
    }
  }
}
