import { count } from './brief.ts'
import type { Brief } from './brief.ts'
import { paintArea, paintBelow } from './canvas.ts'
import type { Canvas } from './canvas.ts'
import { blend } from './colour.ts'
import { raggedLine } from './noise.ts'
import { paintSky } from './sky.ts'

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
