import type { FoundShape } from './image-shape.ts'

/** The bit depths that each colour type may have (PNG specification, table 11.1). */
const depths: Readonly<Record<number, readonly number[]>> = {
  0: [1, 2, 4, 8, 16],
  2: [8, 16],
  3: [1, 2, 4, 8],
  4: [8, 16],
  6: [8, 16],
}

/** Reads the first chunk, IHDR; a chunk tRNS before the pixels gives colour types without alpha transparency too. */
export function readPngInfo(head: Buffer): FoundShape {
  if (head.length < 33 || head.toString('latin1', 8, 16) !== '\0\0\0\rIHDR') return undefined
  const depth = head[24]!
  const colourType = head[25]!
  if (!depths[colourType]?.includes(depth)) return undefined
  return {
    width: head.readUInt32BE(16),
    height: head.readUInt32BE(20),
    hasAlpha: colourType === 4 || colourType === 6 || hasTransparencyChunk(head),
  }
}

function hasTransparencyChunk(head: Buffer): boolean {
  for (let at = 33; at + 8 <= head.length;) {
    const name = head.toString('latin1', at + 4, at + 8)
    if (name === 'tRNS') return true
    if (name === 'IDAT' || name === 'IEND') return false
    at += 12 + head.readUInt32BE(at)
  }
  return false
}
