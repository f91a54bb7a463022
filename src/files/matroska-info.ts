import { skip, take, type Steps } from './byte-steps.ts'
import type { VideoShape } from './video-shape.ts'

type Walk = 'whole' | 'cut' | 'broken'
type Visit = (id: number, length: number) => Steps<Walk>

/** More elements than any video has outside of its clusters. */
const mostElements = 1_000_000

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
 * Walks over the elements of a WebM or Matroska file (RFC 8794, RFC 9559) and looks into its descriptions only. A length
 * that is not known, as live recorders write it, is taken for the rest of the file.
 */
export function* readMatroska(): Steps<VideoShape> {
  let elementsLeft = mostElements
  let hasTracks = false
  // Nanoseconds; the default of the format.
  let scale = 1_000_000
  let duration: number | null = null
  let width: number | null = null
  let height: number | null = null

  function* elements(length: number, visit: Visit): Steps<Walk> {
    for (let left = length; left > 0;) {
      if (elementsLeft-- === 0) return 'broken'
      const id = yield* variable(4)
      if (id === 'end') return length === Infinity ? 'whole' : 'cut'
      if (typeof id === 'string') return id
      const size = yield* variable(8)
      if (typeof size === 'string') return size === 'broken' ? 'broken' : 'cut'
      left -= id.bytes + size.bytes
      if (left < 0) return 'broken'
      const content = Math.min(size.isUnknown ? Infinity : size.value, left)
      const walk = yield* visit(id.marked, content)
      if (walk !== 'whole') return walk
      if (content === Infinity) return 'whole'
      left -= content
    }
    return 'whole'
  }
  function* value(length: number, read: (content: Buffer) => void): Steps<Walk> {
    if (length > 8) return yield* past(length)
    const content = yield* take(length)
    if (content.length < length) return 'cut'
    read(content)
    return 'whole'
  }
  function* info(id: number, length: number): Steps<Walk> {
    switch (id) {
      case ids.timestampScale:
        return yield* value(length, (content) => void (scale = unsigned(content)))
      case ids.duration:
        return yield* value(length, (content) => void (duration = float(content)))
      default:
        return yield* past(length)
    }
  }
  function* tracks(id: number, length: number): Steps<Walk> {
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
  const walk = yield* elements(Infinity, function* top(id, length) {
    if (id === ids.segment) return yield* elements(length, top)
    if (id === ids.info) return yield* elements(length, info)
    if (id !== ids.tracks) return yield* past(length)
    hasTracks = true
    return yield* elements(length, tracks)
  })
  const seconds = duration === null ? null : Math.round((duration * scale) / 1e6) / 1000
  return {
    width,
    height,
    seconds: seconds !== null && seconds > 0 && seconds < Infinity ? seconds : null,
    damage: damages[walk] ?? (hasTracks ? undefined : 'it has no tracks'),
  }
}

const damages: Readonly<Record<Walk, string | undefined>> = {
  whole: undefined,
  cut: 'its data ends too early',
  broken: 'its parts have sizes that cannot be',
}

interface Variable {
  readonly bytes: number
  /** Without the bit that marks the length, as sizes are read. */
  readonly value: number
  /** With it, as ids are. */
  readonly marked: number
  readonly isUnknown: boolean
}

/** A number whose first bits tell its length (RFC 8794, section 4); `end` when there is nothing left. */
function* variable(most: number): Steps<Variable | 'end' | 'cut' | 'broken'> {
  const [first] = yield* take(1)
  if (first === undefined) return 'end'
  const bytes = Math.clz32(first) - 23
  if (bytes > most) return 'broken'
  const rest = yield* take(bytes - 1)
  if (rest.length < bytes - 1) return 'cut'
  const low = rest.reduce((sum, byte) => sum * 256 + byte, 0)
  const high = first & (0xff >> bytes)
  const unit = 256 ** (bytes - 1)
  const isUnknown = high === 0xff >> bytes && rest.every((byte) => byte === 0xff)
  return { bytes, value: high * unit + low, marked: first * unit + low, isUnknown }
}

function* past(length: number): Steps<Walk> {
  return (yield* skip(length)) ? 'whole' : 'cut'
}

function unsigned(content: Buffer): number {
  return content.reduce((sum, byte) => sum * 256 + byte, 0)
}

function float(content: Buffer): number | null {
  if (content.length === 4) return content.readFloatBE()
  return content.length === 8 ? content.readDoubleBE() : null
}
