/** A colour as brightness and two differences from it, by which an eye tells hues apart better than by red, green, blue. */
type Tint = readonly [brightness: number, redness: number, blueness: number]

const steps = [0, 95, 135, 175, 215, 255]

/** The 240 colours that are the same on all terminals, from number 16 on: a cube of 6 × 6 × 6, and 24 greys. */
const palette: readonly Tint[] = [
  ...steps.flatMap((red) => steps.flatMap((green) => steps.map((blue) => tintOf(red, green, blue)))),
  ...Array.from({ length: 24 }, (_, step) => tintOf(8 + 10 * step, 8 + 10 * step, 8 + 10 * step)),
]

/** The number of the colour that looks most like the given one. */
export function nearestColour(red: number, green: number, blue: number): number {
  const [brightness, redness, blueness] = tintOf(red, green, blue)
  let nearest = 0
  let least = Infinity
  for (let at = 0; at < palette.length; at++) {
    const tint = palette[at]!
    const distance = (tint[0] - brightness) ** 2 + (tint[1] - redness) ** 2 + (tint[2] - blueness) ** 2
    if (distance < least) {
      least = distance
      nearest = at
    }
  }
  return 16 + nearest
}

function tintOf(red: number, green: number, blue: number): Tint {
  const brightness = 0.299 * red + 0.587 * green + 0.114 * blue
  return [brightness, red - brightness, blue - brightness]
}
