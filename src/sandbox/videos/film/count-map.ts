/** How many coefficients the blocks of a plane have, which the codes of the next ones depend on. */
export interface BlockCounts {
  /** `nC` of a block: the mean of those left of it and above it, as far as they are there (H.264, clause 9.2.1). */
  around(x: number, y: number): number
  set(x: number, y: number, count: number): void
  clear(): void
}

export interface CountMap {
  readonly luma: BlockCounts
  readonly chroma: readonly [BlockCounts, BlockCounts]
}

/** @param columns and `rows`: macroblocks of the picture */
export function createCountMap(columns: number, rows: number): CountMap {
  return {
    luma: blockCounts(columns * 4, rows * 4),
    chroma: [blockCounts(columns * 2, rows * 2), blockCounts(columns * 2, rows * 2)],
  }
}

export function clearCounts({ luma, chroma }: CountMap): void {
  for (const counts of [luma, ...chroma]) counts.clear()
}

function blockCounts(width: number, height: number): BlockCounts {
  const counts = new Uint8Array(width * height)
  return {
    around(x, y) {
      const at = y * width + x
      if (x > 0 && y > 0) return (counts[at - 1]! + counts[at - width]! + 1) >> 1
      if (x > 0) return counts[at - 1]!
      return y > 0 ? counts[at - width]! : 0
    },
    set(x, y, count) {
      counts[y * width + x] = count
    },
    clear: () => void counts.fill(0),
  }
}
