import type { CellSize, FittedSize } from './fit-picture.ts'

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
