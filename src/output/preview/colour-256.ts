/** The steps of the colour cube, 16 to 231. */
const steps = [0, 95, 135, 175, 215, 255] as const

/** The number of the nearest of the 240 colours that are the same on all terminals: the cube and the greys. */
export function nearestColour(red: number, green: number, blue: number): number {
  const [r, g, b] = [nearestStep(red), nearestStep(green), nearestStep(blue)]
  const cube = distance(steps[r]! - red, steps[g]! - green, steps[b]! - blue)
  // Greys 232 to 255 are 8, 18, 28, … 238.
  const grey = Math.min(23, Math.max(0, Math.round(((red + green + blue) / 3 - 8) / 10)))
  const level = 8 + 10 * grey
  const isGrey = distance(level - red, level - green, level - blue) < cube
  return isGrey ? 232 + grey : 16 + 36 * r + 6 * g + b
}

function nearestStep(value: number): number {
  if (value < 48) return 0
  return value < 115 ? 1 : Math.round((value - 55) / 40)
}

const distance = (red: number, green: number, blue: number) => red * red + green * green + blue * blue
