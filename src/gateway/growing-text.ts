/** A text that grows by small pieces. */
export interface GrowingText {
  add(piece: string): void
  readonly length: number
  toString(): string
}

/** Pieces are joined in blocks of about this many characters. */
const blockLength = 16_384

/**
 * Collects pieces that were cut out of larger texts. A piece keeps the text it was cut from in memory,
 * and adding up keeps the pieces; so they are copied together from time to time, or a long answer
 * would hold on to everything that came over the network.
 */
export function createGrowingText(): GrowingText {
  let blocks: string[] = []
  let recent = ''
  let length = 0
  const closeBlock = () => {
    blocks.push(Buffer.from(recent, 'utf16le').toString('utf16le'))
    recent = ''
  }
  return {
    add(piece) {
      length += piece.length
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
