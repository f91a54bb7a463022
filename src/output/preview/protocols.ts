import type { Context } from '../../context.ts'
import { decodeImage, encodePng, scalePicture, type Pixels } from '../../files/codecs.ts'
import { readImageInfo } from '../../files/image-info.ts'
import { detectProtocol, hasTrueColour, type PreviewMode } from './detect-protocol.ts'

/** Decoding takes four bytes per pixel, on this thread. */
const maxPixels = 40_000_000

/**
 * The text that shows an image on the terminal.
 * @param skip receives the reason why it is not shown; then the result is undefined
 * @throws whatever a decoder throws for broken bytes
 */
export async function drawPicture(
  context: Context,
  mode: Exclude<PreviewMode, 'off'>,
  bytes: Uint8Array,
  skip: (message: string) => void,
): Promise<string | undefined> {
  const protocol = mode === 'auto' ? detectProtocol(context.env) : mode
  // Half blocks need colour; without it they are used only if requested by name.
  if (mode === 'auto' && protocol === 'blocks' && context.env.NO_COLOR) return undefined
  const info = readImageInfo(bytes)
  if (info === undefined) return void skip('no preview: the image cannot be read')
  const { width, height, format, mediaType } = info
  const size = fitPicture(width, height, previewRoom(context))
  if (protocol === 'iterm') return itermPicture(bytes, size)
  if (width * height > maxPixels) return void skip(`no preview: ${width} × ${height} pixels are too large`)
  if (format === 'gif') return void skip('no preview: GIF images are not supported')
  if (protocol === 'kitty') {
    return kittyPicture(format === 'png' ? bytes : await encodePng(await decodeImage(bytes, mediaType)), size)
  }
  return halfBlocks(await decodeImage(bytes, mediaType), size, hasTrueColour(context) ? 'true' : 256)
}

/** A size in characters of the terminal. */
interface CellSize {
  readonly columns: number
  readonly rows: number
}

/** On most terminals characters are about twice as high as wide. */
const cellAspect = 2

/** Minimum height of a recognisable picture. */
const minRows = 12

/** The space for a picture: all columns and a third of the rows, or 12 rows if the terminal has that many. */
function previewRoom({ stderr }: Pick<Context, 'stderr'>): CellSize {
  const rows = stderr.stream?.rows || 24
  const room = Math.max(Math.floor(rows / 3), Math.min(minRows, rows - 4), 1)
  return { columns: Math.max(1, stderr.columns), rows: room }
}

/** The space that a picture takes. */
interface FittedSize extends CellSize {
  /** The limiting dimension; a terminal that knows its cell size needs only that. */
  readonly limit: keyof CellSize
}

/** The largest size within the available space that keeps the aspect ratio. At least one character, however thin. */
function fitPicture(width: number, height: number, room: CellSize): FittedSize {
  const columnsPerRow = (width / height) * cellAspect
  const columns = Math.min(room.columns, room.rows * columnsPerRow)
  return {
    columns: Math.max(1, Math.round(columns)),
    rows: Math.max(1, Math.min(room.rows, Math.round(columns / columnsPerRow))),
    limit: columns === room.columns ? 'columns' : 'rows',
  }
}

/** Maximum length of base64 in one command. */
const pieceLength = 4096

/**
 * The commands of kitty's graphics protocol that send a PNG and show it at the cursor, which moves below it. Replies
 * are suppressed (`q=2`): they would be read as input by the next program.
 */
function kittyPicture(png: Uint8Array, { limit, columns, rows }: FittedSize): string {
  const data = Buffer.from(png.buffer, png.byteOffset, png.byteLength).toString('base64')
  let text = ''
  for (let at = 0; at < data.length; at += pieceLength) {
    const first = at > 0 ? '' : `a=T,f=100,q=2,${limit === 'columns' ? `c=${columns}` : `r=${rows}`},`
    const hasMore = at + pieceLength < data.length ? 1 : 0
    text += `\x1b_G${first}m=${hasMore};${data.slice(at, at + pieceLength)}\x1b\\`
  }
  return `${text}\n`
}

/** iTerm2's sequence that shows a file at the cursor, which moves below it; keeps the aspect ratio. */
function itermPicture(file: Uint8Array, { columns, rows }: CellSize): string {
  const data = Buffer.from(file.buffer, file.byteOffset, file.byteLength)
  const keys = `inline=1;size=${file.length};width=${columns};height=${rows};preserveAspectRatio=1`
  return `\x1b]1337;File=${keys}:${data.toString('base64')}\x07\n`
}

type ColourDepth = 256 | 'true'

const reset = '\x1b[0m'
/** One above the other. */
const pixelsPerCell = 2

/**
 * Draws a picture, scaled down to the pixels that fit, with the character ▀: its foreground is the upper pixel, its background
 * the lower one. Ends with a line feed.
 * @param size in characters; a picture with fewer pixels takes less space
 */
function halfBlocks(picture: Pixels, size: FittedSize, depth: ColourDepth): string {
  const { limit, columns, rows } = size
  const scale = limit === 'columns' ? columns / picture.width : (rows * pixelsPerCell) / picture.height
  const scaled = scalePicture(picture, picture.width * scale, picture.height * scale)
  const { data, width, height } = onCheckerboard(scaled)
  const colour = depth === 'true' ? trueColour : colourOf256
  let text = ''
  for (let y = 0; y < height; y += pixelsPerCell) {
    let lastForeground = ''
    let lastBackground = ''
    for (let x = 0; x < width; x++) {
      const at = (y * width + x) * 4
      const foreground = `38;${colour(data, at)}`
      // With an odd number of rows, the last lower half keeps the terminal's background.
      const background = y + 1 < height ? `48;${colour(data, at + width * 4)}` : '49'
      const changes = [
        ...(foreground === lastForeground ? [] : [foreground]),
        ...(background === lastBackground ? [] : [background]),
      ]
      text += changes.length === 0 ? '▀' : `\x1b[${changes.join(';')}m▀`
      lastForeground = foreground
      lastBackground = background
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

/** A colour as luma and two colour differences: distances match perception better than in RGB. */
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
  let smallest = Infinity
  for (let at = 0; at < palette.length; at++) {
    const tint = palette[at]!
    const distance = (tint[0] - brightness) ** 2 + (tint[1] - redness) ** 2 + (tint[2] - blueness) ** 2
    if (distance < smallest) {
      smallest = distance
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
/** Pixels of a square's edge. */
const square = 2

/** Draws the picture on a checkerboard, as image editors show transparency. */
function onCheckerboard({ data, width, height }: Pixels): Pixels {
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
