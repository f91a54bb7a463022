import type { FoundShape } from './image-shape.ts'

/** Reads the first chunk after `RIFF`, size, `WEBP`: lossy `VP8 `, lossless `VP8L`, or extended `VP8X` (RFC 9649). */
export function readWebpInfo(head: Buffer): FoundShape {
  const kind = head.toString('latin1', 12, 16)
  if (head.length < (kind === 'VP8L' ? 25 : 30)) return undefined
  switch (kind) {
    case 'VP8 ':
      return lossy(head)
    case 'VP8L':
      return lossless(head)
    case 'VP8X':
      return {
        width: head.readUIntLE(24, 3) + 1,
        height: head.readUIntLE(27, 3) + 1,
        hasAlpha: (head[20]! & 0x10) !== 0,
      }
    default:
      return undefined
  }
}

/** Three bytes of frame tag, three fixed bytes, then the sizes in 14 bits each; the other two bits scale them. */
function lossy(head: Buffer): FoundShape {
  const isKeyFrame = (head[20]! & 1) === 0
  if (!isKeyFrame || head.toString('latin1', 23, 26) !== '\x9d\x01\x2a') return undefined
  return { width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff, hasAlpha: false }
}

/** A fixed byte, then from the lowest bit on: 14 bits of width - 1, 14 of height - 1, one of alpha, a version of 0. */
function lossless(head: Buffer): FoundShape {
  const bits = head.readUInt32LE(21)
  if (head[20] !== 0x2f || bits >>> 29 !== 0) return undefined
  return {
    width: (bits & 0x3fff) + 1,
    height: ((bits >>> 14) & 0x3fff) + 1,
    hasAlpha: (bits & 0x1000_0000) !== 0,
  }
}
