import type { CellSize } from './fit-picture.ts'

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
