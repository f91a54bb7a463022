import { type Random, pick } from '../../seeded-random.ts'

/** Red, green, blue, each from 0 to 255; rounded only at the end. */
export type Colour = readonly [red: number, green: number, blue: number]

/**
 * A colour by lightness 0 to 1, chroma 0 to about 0.3 and hue in degrees (the OKLCH space), so that a palette keeps
 * its brightness whatever its hues. Out-of-gamut values are clipped.
 */
function colourOf(lightness: number, chroma: number, hue: number): Colour {
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

/** A position on a gradient of several colours, 0 for the first and 1 for the last. */
export function along(colours: readonly Colour[], share: number): Colour {
  const position = Math.min(1, Math.max(0, share)) * (colours.length - 1)
  const first = Math.min(Math.floor(position), colours.length - 2)
  return blend(colours[first]!, colours[first + 1]!, position - first)
}

/** The colours of one picture. */
export interface Palette {
  readonly isNight: boolean
  /** From the top of the sky down to the horizon. */
  readonly sky: readonly Colour[]
  /** The sun or the moon. */
  readonly light: Colour
  /** Distant and near objects. */
  readonly far: Colour
  readonly near: Colour
}

const hueWords: Readonly<Record<string, number>> = {
  red: 27,
  orange: 60,
  gold: 85,
  yellow: 100,
  green: 145,
  teal: 190,
  blue: 255,
  purple: 305,
  violet: 300,
  pink: 350,
}

/** A colour of the palette, as `colourOf` takes it. */
type Tone = (lightness: number, chroma: number, hue: number) => Colour

interface Time {
  /** Words in a prompt that select it. */
  readonly words: RegExp
  palette(tone: Tone, hue: number, glow: number): Palette
}

const times: readonly Time[] = [
  {
    words: /\b(day|noon|sunny|morning|summer|spring)\b/,
    palette: (tone, hue, glow) => ({
      isNight: false,
      sky: [tone(0.66, 0.13, hue), tone(0.8, 0.09, hue + 12), tone(0.94, 0.05, hue + 40)],
      light: tone(0.985, 0.05, glow),
      far: tone(0.82, 0.06, hue + 10),
      near: tone(0.36, 0.1, hue + 35),
    }),
  },
  {
    words: /\b(dusk|sunset|evening|dawn|sunrise|autumn|fall)\b/,
    palette: (tone, hue, glow) => ({
      isNight: false,
      sky: [
        tone(0.4, 0.13, hue),
        tone(0.62, 0.13, hue + 60),
        tone(0.8, 0.14, glow),
        tone(0.91, 0.1, glow + 25),
      ],
      light: tone(0.96, 0.1, glow + 30),
      far: tone(0.68, 0.1, glow - 20),
      near: tone(0.22, 0.09, hue),
    }),
  },
  {
    words: /\b(night|midnight|moon|stars?|space|galaxy|dark)\b/,
    palette: (tone, hue, glow) => ({
      isNight: true,
      sky: [tone(0.17, 0.07, hue), tone(0.27, 0.1, hue + 15), tone(0.46, 0.1, hue + 45)],
      light: tone(0.96, 0.04, glow),
      far: tone(0.38, 0.08, hue + 30),
      near: tone(0.11, 0.05, hue + 10),
    }),
  },
]

/**
 * Chooses colours: a hue and a time of day that the prompt names, or random ones.
 * @param isVivid vivid rather than muted colours
 */
export function paletteFor(prompt: string, random: Random, isVivid: boolean): Palette {
  const words = prompt.toLowerCase()
  const named = Object.keys(hueWords).find((word) => new RegExp(`\\b${word}\\b`).test(words))
  // Random skies are between teal and rose.
  const anyHue = 185 + random() * 160
  const hue = named === undefined ? anyHue : hueWords[named]!
  const anyTime = pick(random, times)
  const time = times.find((some) => some.words.test(words)) ?? anyTime
  // A cool sky has a warm glow; a warm one has the complementary colour.
  const glow = hue > 180 && hue < 346 ? 35 + random() * 55 : hue + 150 + random() * 60
  const strength = isVivid ? 1 : 0.5
  return time.palette((lightness, chroma, at) => colourOf(lightness, chroma * strength, at), hue, glow)
}
