import type { FoundShape } from './image-shape.ts'

/** Reads the size of the logical screen; the first picture's control block tells whether a colour is transparent. */
export function readGifInfo(head: Buffer): FoundShape {
  if (head.length < 13) return undefined
  return { width: head.readUInt16LE(6), height: head.readUInt16LE(8), hasAlpha: hasTransparentColour(head) }
}

function hasTransparentColour(head: Buffer): boolean {
  const flags = head[10]!
  const paletteBytes = flags & 0x80 ? 3 << ((flags & 7) + 1) : 0
  // Only extensions (0x21) may stand before the first picture.
  for (let at = 13 + paletteBytes; head[at] === 0x21;) {
    const isControl = head[at + 1] === 0xf9
    if (isControl) return ((head[at + 3] ?? 0) & 1) === 1
    at = endOfBlocks(head, at + 2)
  }
  return false
}

/** Content is a row of blocks, each with its length before it; a length of 0 ends the row. */
function endOfBlocks(head: Buffer, start: number): number {
  let at = start
  while (at < head.length && head[at] !== 0) at += 1 + head[at]!
  return at + 1
}
