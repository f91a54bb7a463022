/** A text that grows by small pieces. */
export interface GrowingText {
  add(piece: string): void
  /** How many characters have been added, kept or not. */
  readonly length: number
  /** What has been kept. */
  toString(): string
}

/** Pieces are joined in blocks of about this many characters. */
const blockLength = 16_384

/** Of a text that is not printed, this much is kept to show that there is one. */
export const beginningOnly = 65_536

/**
 * Collects pieces that were cut out of larger texts. A piece keeps the text it was cut from in memory,
 * and adding up keeps the pieces; so they are copied together from time to time, or a long answer
 * would hold on to everything that arrived over the network.
 * @param keep how many characters are kept, give or take a piece; the rest is only counted
 */
export function createGrowingText(keep = Infinity): GrowingText {
  let blocks: string[] = []
  let recent = ''
  let length = 0
  const closeBlock = () => {
    blocks.push(Buffer.from(recent, 'utf16le').toString('utf16le'))
    recent = ''
  }
  return {
    add(piece) {
      const isKept = length < keep
      length += piece.length
      if (!isKept) return
      // A large piece is most of what it was cut from.
      if (recent === '' && piece.length >= blockLength) return void blocks.push(piece)
      recent += piece
      if (recent.length >= blockLength) closeBlock()
    },
    get length() {
      return length
    },
    toString() {
      if (recent !== '') closeBlock()
      if (blocks.length > 1) blocks = [blocks.join('')]
      return blocks[0] ?? ''
    },
  }
}
