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
  type VideoReader,
} from './byte-steps.ts'

/** False if invalid sizes stop the walk. */
type Walk = Steps<boolean>
type Visit = (id: number, length: number) => Walk

/** More elements than any real video has outside its clusters. */
const maxElements = 1_000_000

const ids = {
  header: 0x1a45dfa3,
  segment: 0x18538067,
  info: 0x1549a966,
  timestampScale: 0x2ad7b1,
  duration: 0x4489,
  tracks: 0x1654ae6b,
  track: 0xae,
  video: 0xe0,
  pixelWidth: 0xb0,
  pixelHeight: 0xba,
} as const

/**
 * Walks over the elements of a WebM or Matroska file (RFC 8794, RFC 9559) and reads only its headers. An unknown
 * length, as written by live recorders, means the rest of the file.
 */
export function createMatroskaReader(): VideoReader {
  let elementsLeft = maxElements
  let hasTracks = false
  let hasSegment = false
  /** An element of unknown size, which extends to the end. */
  let isUnbounded = false
  // Nanoseconds; the default of the format.
  let scale = 1_000_000
  let duration: number | null = null
  let width: number | null = null
  let height: number | null = null

  function* elements(length: number, visit: Visit): Walk {
    for (let left = length; left > 0;) {
      if (elementsLeft-- === 0) return false
      const id = yield* variable(4, length === Infinity)
      if (id === undefined) return false
      const size = yield* variable(8)
      if (size === undefined) return false
      left -= id.bytes + size.bytes
      if (left < 0) return false
      const content = Math.min(size.isUnknown ? Infinity : size.value, left)
      isUnbounded ||= content === Infinity
      if (!(yield* visit(id.marked, content))) return false
      left -= content
      // Data after the segment is ignored.
      if (hasSegment && length === Infinity && id.marked === ids.segment) return true
    }
    return true
  }
  function* value(length: number, read: (content: Buffer) => void): Walk {
    if (length === 0 || length > 8) return yield* past(length)
    read(yield* take(length))
    return true
  }
  function* info(id: number, length: number): Walk {
    switch (id) {
      case ids.timestampScale:
        return yield* value(length, (content) => void (scale = unsigned(content)))
      case ids.duration:
        return yield* value(length, (content) => void (duration = float(content)))
      default:
        return yield* past(length)
    }
  }
  function* tracks(id: number, length: number): Walk {
    switch (id) {
      case ids.track:
      case ids.video:
        return yield* elements(length, tracks)
      case ids.pixelWidth:
        return yield* value(length, (content) => void (width ??= unsigned(content)))
      case ids.pixelHeight:
        return yield* value(length, (content) => void (height ??= unsigned(content)))
      default:
        return yield* past(length)
    }
  }
  function* top(id: number, length: number): Walk {
    if (id === ids.segment) {
      hasSegment = true
      return yield* elements(length, top)
    }
    if (id === ids.info) return yield* elements(length, info)
    if (id !== ids.tracks) return yield* past(length)
    hasTracks = true
    return yield* elements(length, tracks)
  }
  const steps = pushInto(elements(Infinity, top))

  return {
    add: (bytes) => steps.add(bytes),
    integrity() {
      if (steps.result === false) return damaged(impossibleSizes)
      const isAtEnd = steps.position !== 'inside' && steps.pending.length === 0
      if (!isAtEnd || !hasSegment) return short(endsEarly)
      if (!hasTracks) return short('it has no tracks')
      return isUnbounded ? unknownEnd : whole
    },
    shape() {
      const seconds = duration === null ? null : Math.round((duration * scale) / 1e6) / 1000
      return {
        width,
        height,
        seconds: seconds !== null && seconds > 0 && seconds < Infinity ? seconds : null,
      }
    },
  }
}

interface Variable {
  readonly bytes: number
  /** Without the bit that marks the length, as sizes are read. */
  readonly value: number
  /** With it, as ids are. */
  readonly marked: number
  readonly isUnknown: boolean
}

/** A number whose first bits encode its length (RFC 8794, section 4); undefined when that is more than `most` bytes. */
function* variable(most: number, mayEnd = false): Steps<Variable | undefined> {
  const first = (yield* take(1, mayEnd))[0]!
  const bytes = Math.clz32(first) - 23
  if (bytes > most) return undefined
  const rest = bytes === 1 ? Buffer.alloc(0) : yield* take(bytes - 1)
  const low = rest.reduce((sum, byte) => sum * 256 + byte, 0)
  const high = first & (0xff >> bytes)
  const unit = 256 ** (bytes - 1)
  const isUnknown = high === 0xff >> bytes && rest.every((byte) => byte === 0xff)
  return { bytes, value: high * unit + low, marked: first * unit + low, isUnknown }
}

function* past(length: number): Walk {
  yield* skip(length, length === Infinity)
  return true
}

function unsigned(content: Buffer): number {
  return content.reduce((sum, byte) => sum * 256 + byte, 0)
}

function float(content: Buffer): number | null {
  if (content.length === 4) return content.readFloatBE()
  return content.length === 8 ? content.readDoubleBE() : null
}
