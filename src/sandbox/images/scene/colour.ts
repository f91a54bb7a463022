/** Red, green, blue, 0 to 255 each and not whole numbers until the end. */
export type Colour = readonly [red: number, green: number, blue: number]

/**
 * A colour by how it looks: lightness 0 to 1, chroma 0 to about 0.3, hue in degrees (the OKLCH space), so that a
 * palette keeps its brightness whatever its hues are. Out of range is cut off.
 */
export function colourOf(lightness: number, chroma: number, hue: number): Colour {
  const angle = (hue * Math.PI) / 180
  const a = chroma * Math.cos(angle)
  const b = chroma * Math.sin(angle)
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3
  return [
    encoded(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    encoded(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    encoded(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ]
}

/** Linear light as an sRGB value. */
function encoded(linear: number): number {
  const light = Math.min(1, Math.max(0, linear))
  return 255 * (light <= 0.0031308 ? 12.92 * light : 1.055 * light ** (1 / 2.4) - 0.055)
}

export function blend(from: Colour, to: Colour, share: number): Colour {
  const part = Math.min(1, Math.max(0, share))
  return [
    from[0] + (to[0] - from[0]) * part,
    from[1] + (to[1] - from[1]) * part,
    from[2] + (to[2] - from[2]) * part,
  ]
}

/** A place on a slope of several colours, 0 for the first and 1 for the last. */
export function along(colours: readonly Colour[], share: number): Colour {
  const place = Math.min(1, Math.max(0, share)) * (colours.length - 1)
  const first = Math.min(Math.floor(place), colours.length - 2)
  return blend(colours[first]!, colours[first + 1]!, place - first)
}
