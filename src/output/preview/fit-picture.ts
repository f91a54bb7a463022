import type { Context } from '../../context.ts'
import type { Pixels } from '../../files/codecs.ts'

/** A size in characters of the terminal. */
export interface CellSize {
  readonly columns: number
  readonly rows: number
}

/** Most terminals have characters about twice as high as wide. */
export const cellAspect = 2

// A picture that is lower shows nothing.
const fewestRows = 12

/** The room for a picture: all columns, a third of the rows, but 12 of them where the terminal has so many to spare. */
export function previewRoom({ stderr }: Pick<Context, 'stderr'>): CellSize {
  const rows = stderr.stream?.rows || 24
  const room = Math.max(Math.floor(rows / 3), Math.min(fewestRows, rows - 4), 1)
  return { columns: Math.max(1, stderr.columns), rows: room }
}

/** The room that a picture takes. */
export interface FittedSize extends CellSize {
  /** What keeps it from being larger; a terminal that knows its characters' shape needs only that. */
  readonly limit: keyof CellSize
}

/** The largest size that keeps the aspect of a picture within a room. At least one character, however thin. */
export function fitPicture(width: number, height: number, room: CellSize): FittedSize {
  const columnsPerRow = (width / height) * cellAspect
  const columns = Math.min(room.columns, room.rows * columnsPerRow)
  return {
    columns: Math.max(1, Math.round(columns)),
    rows: Math.max(1, Math.min(room.rows, Math.round(columns / columnsPerRow))),
    limit: columns === room.columns ? 'columns' : 'rows',
  }
}

/**
 * The picture with as many pixels as fit, its aspect kept.
 * @param cell pixels in one character of the terminal
 */
export function scaleToCells(picture: Pixels, size: FittedSize, cell: PixelSize): Pixels {
  const { width, height } = picture
  const scale =
    size.limit === 'columns' ? (size.columns * cell.width) / width : (size.rows * cell.height) / height
  return scalePicture(picture, width * scale, height * scale)
}

interface PixelSize {
  readonly width: number
  readonly height: number
}

/**
 * A smaller picture, each pixel the average of those it stands for. Colours are weighed by their alpha, so that what
 * cannot be seen has no colour. A picture is not made larger.
 */
function scalePicture(picture: Pixels, maxWidth: number, maxHeight: number): Pixels {
  const width = Math.min(picture.width, Math.max(1, Math.round(maxWidth)))
  const height = Math.min(picture.height, Math.max(1, Math.round(maxHeight)))
  const data = new Uint8ClampedArray(width * height * 4)
  for (let y = 0; y < height; y++) {
    const rows = span(y, height, picture.height)
    for (let x = 0; x < width; x++) {
      average(picture, span(x, width, picture.width), rows, data, (y * width + x) * 4)
    }
  }
  return { data, width, height }
}

interface Span {
  readonly start: number
  readonly end: number
}

/** The pixels of the large picture that one of the small one stands for. */
function span(at: number, count: number, total: number): Span {
  return { start: Math.floor((at * total) / count), end: Math.floor(((at + 1) * total) / count) }
}

function average(picture: Pixels, columns: Span, rows: Span, target: Uint8ClampedArray, at: number): void {
  let red = 0
  let green = 0
  let blue = 0
  let alpha = 0
  for (let y = rows.start; y < rows.end; y++) {
    const first = (y * picture.width + columns.start) * 4
    const last = (y * picture.width + columns.end) * 4
    for (let from = first; from < last; from += 4) {
      const weight = picture.data[from + 3]!
      red += picture.data[from]! * weight
      green += picture.data[from + 1]! * weight
      blue += picture.data[from + 2]! * weight
      alpha += weight
    }
  }
  if (alpha === 0) return
  target[at] = red / alpha
  target[at + 1] = green / alpha
  target[at + 2] = blue / alpha
  target[at + 3] = alpha / ((rows.end - rows.start) * (columns.end - columns.start))
}
