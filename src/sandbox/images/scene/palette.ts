import { type Random, pick, seededRandom } from '../../seeded-random.ts'

/** Red, green, blue, 0 to 255 each and not whole numbers until the end. */
export type Colour = readonly [red: number, green: number, blue: number]

/**
 * A colour by how it looks: lightness 0 to 1, chroma 0 to about 0.3, hue in degrees (the OKLCH space), so that a
 * palette keeps its brightness whatever its hues are. Out of range is cut off.
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

/** A place on a slope of several colours, 0 for the first and 1 for the last. */
export function along(colours: readonly Colour[], share: number): Colour {
  const place = Math.min(1, Math.max(0, share)) * (colours.length - 1)
  const first = Math.min(Math.floor(place), colours.length - 2)
  return blend(colours[first]!, colours[first + 1]!, place - first)
}

/** The colours of one picture. */
interface Palette {
  readonly isNight: boolean
  /** From the top of the sky down to the horizon. */
  readonly sky: readonly Colour[]
  /** The sun or the moon. */
  readonly light: Colour
  /** What lies far away, and what lies near. */
  readonly far: Colour
  readonly near: Colour
  /** Five colours that go well together, from light to dark. */
  readonly tints: readonly Colour[]
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

/** Times of day, each with the words that ask for it. */
const times = {
  day: /\b(day|noon|sunny|morning|summer|spring)\b/,
  dusk: /\b(dusk|sunset|evening|dawn|sunrise|autumn|fall)\b/,
  night: /\b(night|midnight|moon|stars?|space|galaxy|dark)\b/,
} as const
type Time = keyof typeof times

/**
 * Chooses colours: a hue and a time of day that the prompt names, or by chance.
 * @param isVivid strong colours rather than quiet ones
 */
export function paletteFor(prompt: string, random: Random, isVivid: boolean): Palette {
  const words = prompt.toLowerCase()
  const named = Object.keys(hueWords).find((word) => new RegExp(`\\b${word}\\b`).test(words))
  const ownHue = named === undefined ? undefined : hueWords[named]!
  // Skies of chance lie between teal and rose; for everything else any hue will do.
  const [skyChance, tintChance] = [185 + random() * 160, random() * 360]
  const [hue, tint] = [ownHue ?? skyChance, ownHue ?? tintChance]
  const anyTime = pick(random, Object.keys(times) as Time[])
  const time = (Object.keys(times) as Time[]).find((name) => times[name].test(words)) ?? anyTime
  // The glow of a cool sky is warm, that of a warm one lies across the colour wheel.
  const glow = hue > 180 && hue < 346 ? 35 + random() * 55 : hue + 150 + random() * 60
  const strength = isVivid ? 1 : 0.5
  const tone = (lightness: number, chroma: number, at: number) => colourOf(lightness, chroma * strength, at)
  return { ...skies[time](tone, hue, glow), tints: tintsFor(tone, tint, random) }
}

type Tone = (lightness: number, chroma: number, hue: number) => Colour

const skies: Readonly<Record<Time, (tone: Tone, hue: number, glow: number) => Omit<Palette, 'tints'>>> = {
  day: (tone, hue, glow) => ({
    isNight: false,
    sky: [tone(0.66, 0.13, hue), tone(0.8, 0.09, hue + 12), tone(0.94, 0.05, hue + 40)],
    light: tone(0.985, 0.05, glow),
    far: tone(0.82, 0.06, hue + 10),
    near: tone(0.36, 0.1, hue + 35),
  }),
  dusk: (tone, hue, glow) => ({
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
  night: (tone, hue, glow) => ({
    isNight: true,
    sky: [tone(0.17, 0.07, hue), tone(0.27, 0.1, hue + 15), tone(0.46, 0.1, hue + 45)],
    light: tone(0.96, 0.04, glow),
    far: tone(0.38, 0.08, hue + 30),
    near: tone(0.11, 0.05, hue + 10),
  }),
}

function tintsFor(tone: Tone, hue: number, random: Random): readonly Colour[] {
  const spread = 25 + random() * 35
  return [
    tone(0.93, 0.05, hue + 2 * spread),
    tone(0.8, 0.13, hue + spread),
    tone(0.66, 0.17, hue),
    tone(0.62, 0.18, hue + 180 - spread),
    tone(0.36, 0.11, hue - spread),
  ]
}

/** How finely a picture is drawn. Finer pictures show the same scene. */
export type Detail = 1 | 2 | 3

/** What a scene is painted from. */
export interface Brief {
  readonly palette: Palette
  readonly detail: Detail
  /** Chance for one part of the scene, apart from all others: more trees must not move the sun. */
  chance(part: string): Random
}

export function briefFor(seed: readonly (string | number)[], palette: Palette, detail: Detail): Brief {
  return { palette, detail, chance: (part) => seededRandom(...seed, part) }
}

/** So many, for the three levels of detail. */
export function count(detail: Detail, most: number): number {
  return Math.round(most * [0.3, 0.65, 1][detail - 1]!)
}
