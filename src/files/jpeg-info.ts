import type { FoundShape } from './image-shape.ts'

/**
 * Walks the segments to the frame header (SOF0 to SOF15), past EXIF and its thumbnail, which has a frame of its own.
 * A height of 0, which the first scan would tell later, counts as unreadable.
 */
export function readJpegInfo(head: Buffer): FoundShape {
  for (let at = 2; at + 4 <= head.length;) {
    if (head[at] !== 0xff) return undefined
    const marker = head[at + 1]!
    if (marker === 0xff) {
      at += 1 // fill byte
    } else if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7)) {
      at += 2 // without content
    } else if (isFrame(marker)) {
      if (at + 9 > head.length) return undefined
      return { width: head.readUInt16BE(at + 7), height: head.readUInt16BE(at + 5), hasAlpha: false }
    } else {
      // The scan or the end before any frame: no picture.
      if (marker === 0xda || marker === 0xd9) return undefined
      const length = head.readUInt16BE(at + 2)
      if (length < 2) return undefined
      at += 2 + length
    }
  }
  return undefined
}

/** C4, C8 and CC stand in the same row of markers and are tables and an extension. */
export function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
}
