import { skip, take, type Steps } from './byte-steps.ts'
import type { VideoShape } from './video-shape.ts'

/** The end of a walk over boxes. */
type Walk = 'whole' | 'cut' | 'broken'
/** Goes past the content of a box of this length, into it or not. */
type Visit = (type: string, length: number) => Steps<Walk>

/** More boxes than any video has: hours in fragments of a second have some 20,000. */
const mostBoxes = 1_000_000
/** Everything of interest in a header box stands before this. */
const headerBytes = 128

/**
 * Walks over the boxes of an MP4 or QuickTime file (ISO/IEC 14496-12), wherever the index stands, and looks only into
 * the index. Sizes that lie are taken for the end of what is around them.
 */
export function* readMp4(): Steps<VideoShape> {
  let hasIndex = false
  let boxesLeft = mostBoxes
  let timescale = 0
  let duration: number | null = null
  let width: number | null = null
  let height: number | null = null

  function* boxes(length: number, visit: Visit): Steps<Walk> {
    for (let left = length; left > 0;) {
      if (left < 8) return yield* past(left)
      if (boxesLeft-- === 0) return 'broken'
      const header = yield* take(8)
      if (header.length === 0 && length === Infinity) return 'whole'
      if (header.length < 8) return 'cut'
      let size: number = header.readUInt32BE()
      let used = 8
      if (size === 1 && left >= 16) {
        const large = yield* take(8)
        if (large.length < 8) return 'cut'
        size = Number(large.readBigUInt64BE())
        used = 16
      }
      // A size of 0 means all that is left.
      if (size === 0) size = left
      if (size < used) return 'broken'
      size = Math.min(size, left)
      const walk = yield* visit(header.toString('latin1', 4), size - used)
      if (walk !== 'whole') return walk
      left -= size
      if (size === Infinity) return 'whole'
    }
    return 'whole'
  }
  function* header(length: number, read: (content: Buffer) => void): Steps<Walk> {
    const wanted = Math.min(length, headerBytes)
    const content = yield* take(wanted)
    if (content.length < wanted) return 'cut'
    // What is too short stays unread.
    const padded = Buffer.alloc(headerBytes)
    content.copy(padded)
    read(padded)
    return yield* past(length - wanted)
  }
  function* movie(type: string, length: number): Steps<Walk> {
    switch (type) {
      case 'mvhd':
        return yield* header(length, (content) => {
          timescale = content.readUInt32BE(isLong(content) ? 20 : 12)
          duration = time(content, isLong(content) ? 24 : 16)
        })
      case 'mvex':
      case 'trak':
        return yield* boxes(length, inner)
      default:
        return yield* past(length)
    }
  }
  function* inner(type: string, length: number): Steps<Walk> {
    switch (type) {
      case 'mehd':
        // The duration of a file in fragments, whose movie header has none.
        return yield* header(length, (content) => void (duration ||= time(content, 4)))
      case 'tkhd':
        return yield* header(length, (content) => {
          // Tracks of sound have no size. Whole pixels stand before the point.
          const at = isLong(content) ? 88 : 76
          const [wide, high] = [content.readUInt32BE(at) >>> 16, content.readUInt32BE(at + 4) >>> 16]
          if (width === null && wide > 0 && high > 0) [width, height] = [wide, high]
        })
      default:
        return yield* past(length)
    }
  }
  const walk = yield* boxes(Infinity, function* top(type, length) {
    if (type === 'moov' || type === 'moof') hasIndex = true
    return type === 'moov' ? yield* boxes(length, movie) : yield* past(length)
  })
  const seconds = duration && timescale ? Math.round((duration / timescale) * 1000) / 1000 : null
  return { width, height, seconds, damage: damages[walk] ?? (hasIndex ? undefined : 'it has no index') }
}

const damages: Readonly<Record<Walk, string | undefined>> = {
  whole: undefined,
  cut: 'its data ends too early',
  broken: 'its parts have sizes that cannot be',
}

function* past(length: number): Steps<Walk> {
  return (yield* skip(length)) ? 'whole' : 'cut'
}

/** Whether times have 64 bits. */
function isLong(content: Buffer): boolean {
  return content[0] === 1
}

/** All bits set mean that the duration is not known. */
function time(content: Buffer, at: number): number | null {
  if (isLong(content)) {
    const value = content.readBigUInt64BE(at)
    return value === 2n ** 64n - 1n ? null : Number(value)
  }
  const value = content.readUInt32BE(at)
  return value === 2 ** 32 - 1 ? null : value
}
