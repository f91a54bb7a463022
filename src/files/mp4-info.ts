import {
  pushInto,
  skip,
  take,
  type Steps,
  damaged,
  endsEarly,
  impossibleSizes,
  short,
  unknownEnd,
  whole,
  type Integrity,
  type VideoReader,
} from './byte-steps.ts'

/** False if invalid sizes stop the walk. */
type Walk = Steps<boolean>
/** Skips or enters the content of a box of this length. */
type Visit = (type: string, length: number) => Walk

/** More boxes than any real video has: hours in one-second fragments have about 20,000. */
const maxBoxes = 1_000_000
/** The relevant part of a header box is within this many bytes. */
const headerBytes = 128
const noIndex = 'it has no index'
const topTypes = new Set(['moov', 'moof', 'meta', 'mdat', 'mfra'])
/** Zero padding after the last box looks like a box without a name that extends to the end. */
const padding = '\0\0\0\0'

/**
 * Walks over the boxes of an MP4, QuickTime, AVIF or HEIF file (ISO/IEC 14496-12) and reads only the index: the
 * properties of the video, and where its data is. Such a file may be cut between two boxes unnoticed, so it is
 * complete only if it contains the last data that the index refers to.
 */
export function createMp4Reader(): VideoReader {
  let boxesLeft = maxBoxes
  let timescale = 0
  let duration: number | null = null
  let width: number | null = null
  let height: number | null = null
  /** Which of the boxes that matter are on the top level, and which of them was last. */
  const found = new Set<string>()
  let lastType = ''
  /** A box of unknown size, which extends to the end. */
  let isUnbounded = false
  /** The movie header announces fragments. */
  let hasFragments = false
  /** The largest data offset in the index. */
  let lastChunk = 0

  function* boxes(length: number, visit: Visit): Walk {
    const isTop = length === Infinity
    for (let left = length; left > 0;) {
      if (left < 8) {
        yield* skip(left)
        return true
      }
      if (boxesLeft-- === 0) return false
      const header = yield* take(8, isTop)
      let size: number = header.readUInt32BE()
      let used = 8
      if (size === 1 && left >= 16) {
        size = Number((yield* take(8)).readBigUInt64BE())
        used = 16
      }
      // A size of 0 means the rest of the file.
      if (size === 0) size = left
      if (size < used) return false
      size = Math.min(size, left)
      if (!(yield* visit(header.toString('latin1', 4), size - used))) return false
      left -= size
      if (size === Infinity) return true
    }
    return true
  }
  function* past(length: number): Walk {
    yield* skip(length, length === Infinity)
    return true
  }
  function* header(length: number, read: (content: Buffer) => void): Walk {
    const wanted = Math.min(length, headerBytes)
    // Too short: not read.
    const padded = Buffer.alloc(headerBytes)
    if (wanted > 0) (yield* take(wanted)).copy(padded)
    read(padded)
    return yield* past(length - wanted)
  }
  function* chunkOffsets(length: number, bytes: 4 | 8): Walk {
    if (length < 8) return yield* past(length)
    const count = (yield* take(8)).readUInt32BE(4)
    let left = Math.min(count, Math.floor((length - 8) / bytes)) * bytes
    const rest = length - 8 - left
    while (left > 0) {
      const entries = yield* take(Math.min(left, 256))
      for (let at = 0; at < entries.length; at += bytes) {
        const offset = bytes === 4 ? entries.readUInt32BE(at) : Number(entries.readBigUInt64BE(at))
        lastChunk = Math.max(lastChunk, offset)
      }
      left -= entries.length
    }
    return yield* past(rest)
  }
  function* inMovie(type: string, length: number): Walk {
    switch (type) {
      case 'mvhd':
        return yield* header(length, (content) => {
          timescale = content.readUInt32BE(isLong(content) ? 20 : 12)
          duration = time(content, isLong(content) ? 24 : 16)
        })
      case 'mvex':
        hasFragments = true
        return yield* boxes(length, inMovie)
      case 'mehd':
        // The duration of a file in fragments, whose movie header has none.
        return yield* header(length, (content) => void (duration ||= time(content, 4)))
      case 'trak':
      case 'mdia':
      case 'minf':
      case 'stbl':
        return yield* boxes(length, inMovie)
      case 'tkhd':
        return yield* header(length, (content) => {
          // Audio tracks have no size. It is a fixed-point number, with whole pixels in the upper half.
          const at = isLong(content) ? 88 : 76
          const [wide, high] = [content.readUInt32BE(at) >>> 16, content.readUInt32BE(at + 4) >>> 16]
          if (width === null && wide > 0 && high > 0) [width, height] = [wide, high]
        })
      case 'stco':
        return yield* chunkOffsets(length, 4)
      case 'co64':
        return yield* chunkOffsets(length, 8)
      default:
        return yield* past(length)
    }
  }
  function* top(type: string, length: number): Walk {
    if (topTypes.has(type)) found.add((lastType = type))
    isUnbounded ||= length === Infinity && type !== padding
    return type === 'moov' ? yield* boxes(length, inMovie) : yield* past(length)
  }
  const steps = pushInto(boxes(Infinity, top))

  /** The integrity of a file that may end here. */
  const atEnd = (): Integrity => {
    if (!['moov', 'moof', 'meta'].some((type) => found.has(type))) return short(noIndex)
    if (lastChunk > steps.received) return short(endsEarly)
    if (hasFragments && !found.has('moof') && !found.has('mdat')) return short(endsEarly)
    if (found.has('moof')) {
      if (lastType === 'moof') return short(endsEarly)
      // More fragments may be missing.
      return found.has('mfra') ? whole : unknownEnd
    }
    return found.has('mdat') ? whole : unknownEnd
  }
  return {
    add: (bytes) => steps.add(bytes),
    integrity() {
      const ended = atEnd()
      const isPadded = steps.position === 'gap' && steps.pending.every((byte) => byte === 0)
      // Data after a complete file is harmless.
      if (steps.position === 'done') return ended.state === 'whole' ? ended : damaged(impossibleSizes)
      if (steps.position !== 'open' && !isPadded) return short(endsEarly)
      return isUnbounded && ended.state === 'whole' ? unknownEnd : ended
    },
    shape: () => ({
      width,
      height,
      seconds: duration && timescale ? Math.round((duration / timescale) * 1000) / 1000 : null,
    }),
  }
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
