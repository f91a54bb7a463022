import type { Context } from '../../context.ts'

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
