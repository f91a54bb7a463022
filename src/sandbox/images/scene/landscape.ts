import { count, type Brief, blend, along } from './palette.ts'
import { paintArea, paintBelow, type Canvas, raggedLine, paintDisc, paintRows } from './canvas.ts'

const ridges = 6

/** Ridge behind ridge in the haze, the nearest one wooded. */
export function paintHills(canvas: Canvas, brief: Brief): void {
  const { palette, detail } = brief
  const horizon = 0.62
  paintSky(canvas, brief, horizon)
  const random = brief.chance('ridges')
  const steepness = 0.6 + 0.8 * random()
  for (let ridge = 0; ridge < ridges; ridge++) {
    const nearness = ridge / (ridges - 1)
    const line = raggedLine(brief.chance(`ridge ${ridge}`), 1 + 2 * detail)
    const level = 0.42 + 0.46 * nearness ** 1.25
    const height = (0.17 - 0.1 * nearness) * steepness
    const edgeAt = (across: number) =>
      level - height * line(((across - 0.5) * canvas.width * (3.2 - 1.4 * nearness)) / canvas.unit)
    const colour = blend(palette.far, palette.near, nearness ** 0.85)
    // Haze gathers in the valleys: every ridge fades towards the colour of the sky at its foot.
    const haze = blend(colour, palette.sky.at(-1)!, 0.6 * (1 - nearness))
    paintBelow(canvas, { edgeAt, colourAt: (depth) => blend(colour, haze, depth * 3.2) })
    if (ridge >= ridges - 2) paintTrees(canvas, brief, ridge, edgeAt, colour)
  }
}

/** Fir trees along an edge. */
function paintTrees(
  canvas: Canvas,
  brief: Brief,
  ridge: number,
  edgeAt: (across: number) => number,
  ground: Brief['palette']['near'],
): void {
  const random = brief.chance(`trees ${ridge}`)
  const isNearest = ridge === ridges - 1
  const colour = blend(ground, brief.palette.near, 0.6)
  for (let tree = 0; tree < count(brief.detail, isNearest ? 46 : 70); tree++) {
    const x = random()
    const height = ((isNearest ? 0.07 : 0.03) * (0.5 + random()) * canvas.unit) / canvas.height
    const foot = edgeAt(x) + height * 0.12
    const width = (height * 0.2 * canvas.height) / canvas.width
    paintArea(
      canvas,
      { top: foot - height, bottom: foot, left: x - width, right: x + width },
      colour,
      (across, down) => {
        const fromTop = (down - foot + height) / height
        // Branches: the outline steps in and out on its way down.
        const reach = width * (0.25 + 0.75 * ((fromTop * 5) % 1)) * (0.15 + 0.85 * fromTop)
        return (reach - Math.abs(across - x)) * canvas.width + 0.5
      },
    )
  }
}

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

interface Sun {
  readonly x: number
  readonly y: number
  readonly radius: number
}

/**
 * Paints the sky down to the horizon with a sun or a moon, stars at night and clouds by day.
 * @returns where the sun is
 */
function paintSky(canvas: Canvas, brief: Brief, horizon: number): Sun {
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
