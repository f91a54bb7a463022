export type GrowingText = ReturnType<typeof createGrowingText>

/** Pieces are joined in blocks of about this many characters. */
const blockLength = 16_384

/** How much of a text is kept if it is not printed, only to show that there is one. */
export const sampleLength = 65_536

/** How much text of an answer is kept to continue from, unless all of it is wanted: more than any model writes. */
export const maxReplyCharacters = 2 * 1024 * 1024

/**
 * A text of small pieces. Each piece keeps the larger string it was cut from in memory, and so does what they are joined
 * to: they are copied from time to time, or a long answer would keep everything received from the network.
 * @param keep about how many characters are kept; the rest is only counted
 */
export function createGrowingText(keep = Infinity) {
  let blocks: string[] = []
  let recent = ''
  let length = 0
  const closeBlock = () => {
    // A copy of a text without wide characters takes one byte for each.
    const encoding = /[^\0-\xff]/.test(recent) ? 'utf16le' : 'latin1'
    blocks.push(Buffer.from(recent, encoding).toString(encoding))
    recent = ''
  }
  return {
    add(piece: string): void {
      const isKept = length < keep
      length += piece.length
      if (!isKept) return
      // A large piece is most of its original string.
      if (recent === '' && piece.length >= blockLength) return void blocks.push(piece)
      recent += piece
      if (recent.length >= blockLength) closeBlock()
    },
    get length() {
      return length
    },
    toString(): string {
      if (recent !== '') closeBlock()
      if (blocks.length > 1) blocks = [blocks.join('')]
      return blocks[0] ?? ''
    },
  }
}
