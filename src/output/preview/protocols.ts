import type { Context } from '../../context.ts'
import { decodeImage, encodePng, scalePicture, type Pixels } from '../../files/codecs.ts'
import { readImageInfo } from '../../files/image-info.ts'
import { detectProtocol, hasTrueColour, type PreviewMode } from '../terminal-abilities.ts'

/** Decoding takes four bytes per pixel, on this thread. */
const maxPixels = 40_000_000

/** @throws an error whose message is the reason why it cannot be shown */
export async function drawPicture(
  context: Context,
  mode: Exclude<PreviewMode, 'off'>,
  bytes: Uint8Array,
): Promise<string | undefined> {
  const protocol = mode === 'auto' ? detectProtocol(context.env) : mode
  // Half blocks need colour; without it they are used only if requested by name.
  if (mode === 'auto' && protocol === 'blocks' && context.env.NO_COLOR) return undefined
  const info = readImageInfo(bytes)
  if (info === undefined) throw new Error('the image cannot be read')
  const { width, height, format, mediaType } = info
  const size = fitPicture(width, height, previewRoom(context))
  if (protocol === 'iterm') return itermPicture(bytes, size)
  if (width * height > maxPixels) throw new Error(`${width} × ${height} pixels are too large`)
  if (format === 'gif') throw new Error('GIF images are not supported')
  if (protocol === 'kitty') {
    return kittyPicture(format === 'png' ? bytes : await encodePng(await decodeImage(bytes, mediaType)), size)
  }
  return await halfBlocks(await decodeImage(bytes, mediaType), size, hasTrueColour(context))
}

interface CellSize {
  readonly columns: number
  readonly rows: number
}

/** On most terminals characters are about twice as high as wide. */
const cellAspect = 2

const minRows = 12

function previewRoom({ stderr }: Pick<Context, 'stderr'>): CellSize {
  const rows = stderr.stream?.rows || 24
  const room = Math.max(Math.floor(rows / 3), Math.min(minRows, rows - 4), 1)
  return { columns: Math.max(1, stderr.columns), rows: room }
}

type FittedSize = ReturnType<typeof fitPicture>

/** Keeps the aspect ratio. At least one character, however thin. */
function fitPicture(width: number, height: number, room: CellSize) {
  const columnsPerRow = (width / height) * cellAspect
  const columns = Math.min(room.columns, room.rows * columnsPerRow)
  return {
    columns: Math.max(1, Math.round(columns)),
    rows: Math.max(1, Math.min(room.rows, Math.round(columns / columnsPerRow))),
    /** The limiting dimension; a terminal that knows its cell size needs only that. */
    limit: columns === room.columns ? 'columns' : 'rows',
  } as const
}

const pieceLength = 4096

/** Kitty's graphics protocol. Replies are suppressed (`q=2`): the next program would read them as input. */
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

/** iTerm2's sequence; the cursor moves below the picture. */
function itermPicture(file: Uint8Array, { columns, rows }: CellSize): string {
  const data = Buffer.from(file.buffer, file.byteOffset, file.byteLength)
  const keys = `inline=1;size=${file.length};width=${columns};height=${rows};preserveAspectRatio=1`
  return `\x1b]1337;File=${keys}:${data.toString('base64')}\x07\n`
}

const pixelsPerCell = 2
/** Of the checkerboard that transparency shows, as in image editors, and the edge of its squares in pixels. */
const [light, dark, square] = [0x99, 0x66, 2]

/** Draws with the character ▀: its foreground is the upper pixel, its background the lower one. */
async function halfBlocks(picture: Pixels, size: FittedSize, isTrueColour: boolean): Promise<string> {
  const { Chalk } = await import('chalk')
  const chalk = new Chalk({ level: isTrueColour ? 3 : 2 })
  const { limit, columns, rows } = size
  const scale = limit === 'columns' ? columns / picture.width : (rows * pixelsPerCell) / picture.height
  const { data, width, height } = scalePicture(picture, picture.width * scale, picture.height * scale)
  const colourAt = (x: number, y: number) => {
    const [red = 0, green = 0, blue = 0, alpha = 0] = data.subarray((y * width + x) * 4)
    const behind = (Math.floor(x / square) + Math.floor(y / square)) % 2 === 0 ? light : dark
    const shown = (channel: number) => Math.round(behind + ((channel - behind) * alpha) / 255)
    return [shown(red), shown(green), shown(blue)] as const
  }
  let text = ''
  for (let y = 0; y < height; y += pixelsPerCell) {
    for (let x = 0; x < width; x++) {
      const upper = chalk.rgb(...colourAt(x, y))
      // With an odd number of rows, the last lower half keeps the terminal's background.
      text += (y + 1 < height ? upper.bgRgb(...colourAt(x, y + 1)) : upper)('▀')
    }
    text += '\n'
  }
  return text
}
