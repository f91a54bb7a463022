import type { Pixels } from '../../files/codecs.ts'
import { seededRandom } from '../seeded-random.ts'

interface PictureOptions {
  readonly seed: readonly (string | number)[]
  readonly text: string
  readonly caption: string
  readonly width: number
  readonly height: number
  readonly isVivid?: boolean
}

/** A text on a gradient of two colours, which the seed and the text choose: quick to draw, and small when encoded. */
export function plainPicture(options: PictureOptions): Pixels {
  const { seed, text, caption, width, height, isVivid = true } = options
  const random = seededRandom(...seed, text)
  const [hue, turn, saturation] = [random() * 360, 40 + random() * 80, isVivid ? 0.8 : 0.3]
  const upper = colourOf(hue, saturation, 0.38)
  const lower = colourOf(hue + turn, saturation, 0.18)
  const pixels = new Uint32Array(width * height)
  for (let y = 0; y < height; y++) {
    const colour = upper.map((value, channel) => value + ((lower[channel]! - value) * y) / height)
    pixels.fill(opaque(colour), y * width, (y + 1) * width)
  }
  const white = opaque([255, 255, 255])
  const { lines, dot } = layOut(text, caption, width, height)
  const left = Math.floor((width * (1 - textShare)) / 2)
  const top = Math.max(0, Math.floor((height - lines.length * lineHeight * dot) / 2))
  for (const { column, row } of lines.flatMap(dotsOf)) {
    const x = left + column * dot
    const y = top + row * dot
    for (let line = y; x < width && line < Math.min(height, y + dot); line++) {
      pixels.fill(white, line * width + x, line * width + Math.min(width, x + dot))
    }
  }
  return { data: new Uint8ClampedArray(pixels.buffer), width, height }
}

/** A pixel in the byte order of the machine. */
function opaque(colour: readonly number[]): number {
  return new Uint32Array(Uint8Array.of(...colour, 255).buffer)[0]!
}

/** Red, green and blue, up to 255, of a hue in degrees, a saturation and a lightness: the formula of CSS. */
function colourOf(hue: number, saturation: number, lightness: number): number[] {
  const reach = saturation * Math.min(lightness, 1 - lightness)
  return [0, 8, 4].map((offset) => {
    const sector = (offset + hue / 30) % 12
    return 255 * (lightness - reach * Math.max(-1, Math.min(sector - 3, 9 - sector, 1)))
  })
}

const textShare = 0.8

/** Dots from one letter to the next, and from one line to the next. */
const [advance, lineHeight] = [6, 9]

/** The lines, as large as all of them fit; where they do not fit even in dots of one pixel, the first ones. */
function layOut(text: string, caption: string, width: number, height: number) {
  // Letters without their accents; a box for what is not in ASCII even so.
  const letters = text
    .slice(0, 2000)
    .normalize('NFKD')
    .replace(/[\p{M}\p{Cf}]/gu, '')
  const words = letters.replace(/\s+/gu, ' ').replace(/[^ -~]/gu, '\x7f')
  let dot = Math.ceil(Math.min(width, height) / 96)
  for (;;) {
    const columns = Math.max(1, Math.floor((width * textShare) / (advance * dot)))
    const rows = Math.floor((height * textShare) / (lineHeight * dot))
    const [above, below] = [wrapped(words, columns), ['', ...wrapped(caption, columns)]]
    if (above.length + below.length <= rows) return { lines: [...above, ...below], dot }
    if (dot === 1) return { lines: [...above.slice(0, Math.max(1, rows - below.length)), ...below], dot }
    dot -= 1
  }
}

/** Breaks between words, and within those that are longer than a line. */
function wrapped(text: string, columns: number): string[] {
  return text.match(new RegExp(`\\S.{0,${columns - 1}}(?!\\S)|\\S{${columns}}`, 'g')) ?? []
}

/** The dots of one line of several, in dots from the beginning of the first. */
function dotsOf(line: string, index: number): { column: number; row: number }[] {
  return Array.from(line).flatMap((letter, at) => {
    const rows = font.slice((letter.charCodeAt(0) - 32) * 7).slice(0, 7)
    return Array.from(rows).flatMap((digit, row) =>
      [0, 1, 2, 3, 4]
        .filter((column) => (Number.parseInt(digit, 32) >> (4 - column)) & 1)
        .map((column) => ({ column: at * advance + column, row: index * lineHeight + row })),
    )
  })
}

/** Space to `~` and a box, in 5 by 7 dots: rows from the top, each a digit in base 32, its highest bit on the left. */
const font =
  '00000004444404aaa0000aavavaa4fke5u4pp248jjcik8lid44400002488842842224804lel40044v4400000c48000v000' +
  '00000cc01248g0ehjlphe4c4444eeh1248vv2421he26aiv22vgu11he68guhhev124888ehhehheehhf12c0cc0cc00cc0c48' +
  '248g84200v0v008421248eh12404eh1dlleehhvhhhuhhuhhuehggghesihhhisvgguggvvggugggehgnhhfhhhvhhhe44444e' +
  '72222ichikokihggggggvhrllhhhhhpljhhehhhhheuhhugggehhhliduhhukihfgge11uv444444hhhhhhehhhhha4hhhllla' +
  'hha4ahhhhha444v1248gve88888e0g84210e22222e4ah0000000000v842000000e1fhfggmphhu00egghe11djhhf00ehvge' +
  '698s88800fhf1eggmphhh40c444e20622icggikokic44444e00qllhh00mphhh00ehhhe00uhugg00djf1100mpggg00fge1u' +
  '88s889600hhhjd00hhha400hhlla00ha4ah00hhf1e00v248v244844244444444448442008l200vhhhhhv'
