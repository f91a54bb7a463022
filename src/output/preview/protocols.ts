import { type CellSize, type FittedSize, cellAspect, scaleToCells } from './fit-picture.ts'
import type { Pixels } from '../../files/codecs.ts'

/** The longest piece of base64 that one command may carry. */
const pieceLength = 4096

/**
 * The commands of kitty's graphics protocol that send a PNG and show it at the cursor, which ends up below it.
 * Answers are switched off (`q=2`): they would be typed into whatever reads the terminal next.
 */
export function kittyPicture(png: Uint8Array, size: FittedSize): string {
  const extent = size.limit === 'columns' ? { c: size.columns } : { r: size.rows }
  return `${transfer(png, { a: 'T', f: 100, q: 2, ...extent }).join('')}\n`
}

/**
 * The same through a terminal multiplexer, which knows nothing of pictures: the picture is placed virtually, and
 * characters that mean parts of it are printed, so that it scrolls and vanishes with the text.
 * @param id 1 to 255; the colour of the characters
 */
export function kittyPlaceholders(
  png: Uint8Array,
  size: CellSize,
  id: number,
  wrap: (sequence: string) => string,
): string {
  const rows = Math.min(size.rows, diacritics.length)
  const keys = { a: 'T', f: 100, q: 2, U: 1, i: id, c: size.columns, r: rows }
  const lines = Array.from({ length: rows }, (_, row) => {
    // Characters without marks continue the row.
    const first = placeholder + diacritics[row]! + diacritics[0]!
    return `\x1b[38;5;${id}m${first}${placeholder.repeat(size.columns - 1)}\x1b[39m\n`
  })
  return transfer(png, keys).map(wrap).join('') + lines.join('')
}

function transfer(png: Uint8Array, keys: Readonly<Record<string, string | number>>): string[] {
  const data = Buffer.from(png.buffer, png.byteOffset, png.byteLength).toString('base64')
  const control = Object.entries(keys).map(([key, value]) => `${key}=${value},`)
  const commands: string[] = []
  for (let at = 0; at < data.length; at += pieceLength) {
    const isLast = at + pieceLength >= data.length
    const first = at === 0 ? control.join('') : ''
    commands.push(`\x1b_G${first}m=${isLast ? 0 : 1};${data.slice(at, at + pieceLength)}\x1b\\`)
  }
  return commands
}

const placeholder = '\u{10eeee}'

/** The marks that number rows and columns; the protocol has more, for pictures higher than a preview. */
const diacritics = Array.from(
  '\u0305\u030d\u030e\u0310\u0312\u033d\u033e\u033f\u0346\u034a\u034b\u034c\u0350\u0351\u0352' +
    '\u0357\u035b\u0363\u0364\u0365\u0366\u0367\u0368\u0369\u036a\u036b\u036c\u036d\u036e\u036f',
)

/** iTerm2's sequence for a file that is shown at the cursor, which ends up below it; its aspect is kept. */
export function itermPicture(file: Uint8Array, size: CellSize): string {
  return `${sequence(file, size)}\n`
}

/**
 * The same through tmux, which knows nothing of the picture: room is made first. The blank makes tmux move the
 * terminal's own cursor to where the picture is to be.
 */
export function itermThroughTmux(
  file: Uint8Array,
  size: CellSize,
  wrap: (sequence: string) => string,
): string {
  return `${'\n'.repeat(size.rows)}\x1b[${size.rows}A ${wrap(sequence(file, size))}\r\x1b[${size.rows}B`
}

function sequence(file: Uint8Array, { columns, rows }: CellSize): string {
  const data = Buffer.from(file.buffer, file.byteOffset, file.byteLength)
  const keys = `inline=1;size=${file.length};width=${columns};height=${rows};preserveAspectRatio=1`
  return `\x1b]1337;File=${keys}:${data.toString('base64')}\x07`
}

/** Sixels are pixels, and how many a character has is not known: more than this on most terminals. */
const cell = { width: 8, height: 8 * cellAspect }

/** The sequence that draws a picture in sixels, in 256 colours of its own. */
export async function sixelPicture(picture: Pixels, size: FittedSize): Promise<string> {
  const { image2sixel } = await loadEncoder()
  const scaled = scaleToCells(picture, size, cell)
  const { data, width, height } = onCheckerboard(scaled, 8)
  return `${image2sixel(data, width, height, 256)}\n`
}

/**
 * A module that the package carries assigns to a global variable without declaring it, which fails in strict code,
 * and a bundle is strict: the variable has to be there first.
 */
async function loadEncoder() {
  if (!('UPNG' in globalThis)) Object.assign(globalThis, { UPNG: undefined })
  return await import('sixel/lib/SixelEncoder.js')
}

type ColourDepth = 256 | 'true'

const reset = '\x1b[0m'

/**
 * Draws a picture with the character ▀: its ink is the upper pixel, its ground the lower one. Ends with a line feed.
 * @param size in characters; a picture with fewer pixels takes less room
 */
export function halfBlocks(picture: Pixels, size: FittedSize, depth: ColourDepth): string {
  const { data, width, height } = onCheckerboard(scaleToCells(picture, size, { width: 1, height: 2 }), 2)
  const colour = depth === 'true' ? trueColour : colourOf256
  let text = ''
  for (let y = 0; y < height; y += 2) {
    let inkBefore = ''
    let groundBefore = ''
    for (let x = 0; x < width; x++) {
      const at = (y * width + x) * 4
      const ink = `38;${colour(data, at)}`
      // Below the last row of an odd number is the terminal itself.
      const ground = y + 1 < height ? `48;${colour(data, at + width * 4)}` : '49'
      const changes = [...(ink === inkBefore ? [] : [ink]), ...(ground === groundBefore ? [] : [ground])]
      text += changes.length === 0 ? '▀' : `\x1b[${changes.join(';')}m▀`
      inkBefore = ink
      groundBefore = ground
    }
    text += `${reset}\n`
  }
  return text
}

function trueColour(data: Uint8ClampedArray, at: number): string {
  return `2;${data[at]};${data[at + 1]};${data[at + 2]}`
}

function colourOf256(data: Uint8ClampedArray, at: number): string {
  return `5;${nearestColour(data[at]!, data[at + 1]!, data[at + 2]!)}`
}

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

const light = 0x99
const dark = 0x66

/** The picture with what shines through it: squares in two greys, as picture editors show transparency. */
function onCheckerboard({ data, width, height }: Pixels, square: number): Pixels {
  const opaque = new Uint8ClampedArray(data.length)
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const at = (y * width + x) * 4
      const behind = (Math.floor(x / square) + Math.floor(y / square)) % 2 === 0 ? light : dark
      const share = data[at + 3]! / 255
      for (let channel = at; channel < at + 3; channel++) {
        opaque[channel] = data[channel]! * share + behind * (1 - share)
      }
      opaque[at + 3] = 255
    }
  }
  return { data: opaque, width, height }
}
