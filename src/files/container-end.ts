import {
  pushInto,
  skip,
  take,
  type Steps,
  damaged,
  short,
  uncheckedContainer,
  unknownEnd,
  whole,
  type ContainerReader,
} from './byte-steps.ts'
import { isFrame } from './image-info.ts'
import { createMp4Reader } from './mp4-info.ts'

const readers: Readonly<Record<string, () => ContainerReader>> = {
  png: () => follow('PNG', pngChunks()),
  jpeg: readJpeg,
  webp: () => readRiff('WEBP'),
  gif: () => follow('GIF', gifBlocks()),
  avif: createMp4Reader,
  heic: createMp4Reader,
  heif: createMp4Reader,
}

/**
 * Feed it from the first byte of the image on; bytes after its end are ignored.
 * @param format the media type's own word
 */
export function readContainer(format: string): ContainerReader {
  return Object.hasOwn(readers, format) ? readers[format]!() : uncheckedContainer()
}

const endsTooEarly = (name: string) => short(`the ${name} data ends too early`)

/** @param walk returns true at the end, false if the parts are in an impossible order */
function follow(name: string, walk: Steps<boolean>): ContainerReader {
  const steps = pushInto(walk)
  return {
    add: (bytes) => steps.add(bytes),
    integrity() {
      if (steps.result === undefined) return steps.position === 'open' ? unknownEnd : endsTooEarly(name)
      return steps.result ? whole : damaged('its parts are in an impossible order')
    },
  }
}

/** Chunks of length, name, content and checksum, the last of them IEND. */
function* pngChunks(): Steps<boolean> {
  yield* skip(8)
  for (let name = ''; name !== 'IEND';) {
    const header = yield* take(8)
    name = header.toString('latin1', 4)
    yield* skip(header.readUInt32BE() + 4)
  }
  return true
}

/**
 * Segments with a length, which may contain a thumbnail with its own end marker, and between them entropy-coded data,
 * in which a byte ff is always followed by 00 or a restart marker.
 */
function readJpeg(): ContainerReader {
  let state: 'data' | 'marker' | 'length' | 'last' = 'data'
  let skip = 2
  let high: number | undefined
  let hasFrame = false
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
          hasFrame ||= isFrame(bytes[at]!)
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
    integrity() {
      if (state !== 'last') return endsTooEarly('JPEG')
      // The frame header may be beyond the bytes that are kept, so its presence has to suffice.
      return hasFrame ? whole : damaged('its header cannot be read')
    },
  }
}

function afterMarker(code: number): 'data' | 'marker' | 'length' | 'last' {
  if (code === 0xff) return 'marker'
  if (code === 0xd9) return 'last'
  const standsAlone = code <= 0x01 || (code >= 0xd0 && code <= 0xd8)
  return standsAlone ? 'data' : 'length'
}

export function readRiff(name: string): ContainerReader {
  return follow(name, riffContent())
}

/** The size of a RIFF file is at byte 4 and counts the bytes after it. A live recording may have no size. */
function* riffContent(): Steps<boolean> {
  yield* skip(4)
  const length = (yield* take(4)).readUInt32LE()
  const hasLength = length !== 0 && length !== 0xff_ff_ff_ff
  yield* skip(hasLength ? length : Infinity, !hasLength)
  return true
}

/** A logical screen with its palette, then images and extensions with data in sub-blocks, and 3b as the last byte. */
function* gifBlocks(): Steps<boolean> {
  yield* skip(paletteBytes((yield* take(13))[10]!))
  for (;;) {
    const kind = (yield* take(1))[0]!
    if (kind === 0x3b) return true
    if (kind === 0x2c) {
      yield* skip(paletteBytes((yield* take(9))[8]!))
      // The LZW minimum code size.
      yield* skip(1)
    } else if (kind === 0x21) yield* skip(1)
    // Some writers add an extra zero after the blocks.
    else if (kind !== 0) return false
    if (kind === 0) continue
    for (let length = 1; length > 0;) {
      length = (yield* take(1))[0]!
      yield* skip(length)
    }
  }
}

function paletteBytes(flags: number): number {
  return flags & 0x80 ? 3 << ((flags & 7) + 1) : 0
}
