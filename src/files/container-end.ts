import type { ImageFormat } from './image-info.ts'

/** Follows an image through its bytes, wherever they are cut into pieces, to the mark that ends it. */
export interface ContainerEnd {
  add(bytes: Uint8Array): void
  /** Whether everything that the container announced has come. */
  isReached(): boolean
}

const finders: Readonly<Record<ImageFormat, () => ContainerEnd>> = { png, jpeg, webp, gif }

/** What has to be fed from the image's first byte on; bytes after the end are not looked at. */
export function findContainerEnd(format: ImageFormat): ContainerEnd {
  return finders[format]()
}

/** Chunks of length, name, content and checksum, the last of them IEND. */
function png(): ContainerEnd {
  const header = Buffer.alloc(8)
  let filled = 0
  let skip = 8
  let isLast = false
  return {
    add(bytes) {
      for (let at = 0; at < bytes.length && !(isLast && skip === 0);) {
        if (skip > 0) {
          const step = Math.min(skip, bytes.length - at)
          skip -= step
          at += step
        } else {
          header[filled++] = bytes[at++]!
          if (filled < 8) continue
          filled = 0
          skip = header.readUInt32BE() + 4
          isLast = header.toString('latin1', 4) === 'IEND'
        }
      }
    },
    isReached: () => isLast && skip === 0,
  }
}

/**
 * Segments with a length, which may hold a thumbnail with an end of its own, and between them the picture's data,
 * in which a byte ff is always followed by 00 or a restart mark.
 */
function jpeg(): ContainerEnd {
  let state: 'data' | 'marker' | 'length' | 'last' = 'data'
  let skip = 2
  let high: number | undefined
  return {
    add(bytes) {
      for (let at = 0; at < bytes.length && state !== 'last';) {
        if (skip > 0) {
          const step = Math.min(skip, bytes.length - at)
          skip -= step
          at += step
        } else if (state === 'data') {
          at = bytes.indexOf(0xff, at) + 1
          if (at === 0) return
          state = 'marker'
        } else if (state === 'marker') {
          state = afterMarker(bytes[at++]!)
        } else if (high === undefined) {
          high = bytes[at++]!
        } else {
          skip = Math.max(0, high * 256 + bytes[at++]! - 2)
          high = undefined
          state = 'data'
        }
      }
    },
    isReached: () => state === 'last',
  }
}

function afterMarker(code: number): 'data' | 'marker' | 'length' | 'last' {
  if (code === 0xff) return 'marker'
  if (code === 0xd9) return 'last'
  const standsAlone = code <= 0x01 || (code >= 0xd0 && code <= 0xd8)
  return standsAlone ? 'data' : 'length'
}

/** The size stands at byte 4 and counts what follows it. */
function webp(): ContainerEnd {
  const size = Buffer.alloc(4)
  let count = 0
  return {
    add(bytes) {
      for (let at = Math.max(0, 4 - count); count + at < 8 && at < bytes.length; at++) {
        size[count + at - 4] = bytes[at]!
      }
      count += bytes.length
    },
    isReached: () => count >= 8 && count >= 8 + size.readUInt32LE(),
  }
}

/** The last byte is 3b; zeros after it are padding. */
function gif(): ContainerEnd {
  let last = 0
  return {
    add(bytes) {
      last = bytes.findLast((byte) => byte !== 0) ?? last
    },
    isReached: () => last === 0x3b,
  }
}
