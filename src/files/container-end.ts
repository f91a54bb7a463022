import { pushInto, skip, take, type PushedSteps, type Steps } from './byte-steps.ts'
import { type ImageFormat, isFrame } from './image-info.ts'
import {
  damaged,
  short,
  uncheckedContainer,
  unknownEnd,
  whole,
  type ContainerReader,
  type Integrity,
} from './integrity.ts'
import { createMp4Reader } from './mp4-info.ts'

const readers: Readonly<Record<string, () => ContainerReader>> = {
  png,
  jpeg,
  webp,
  gif,
  avif: createMp4Reader,
  heic: createMp4Reader,
  heif: createMp4Reader,
}

/**
 * Has to be fed from the image's first byte on; bytes after the end are not looked at.
 * @param format the media type's own word
 */
export function readContainer(format: string): ContainerReader {
  return Object.hasOwn(readers, format) ? readers[format]!() : uncheckedContainer()
}

function reached(isReached: boolean, format: ImageFormat): Integrity {
  return isReached ? whole : short(`the ${format.toUpperCase()} data ends too early`)
}

/** Chunks of length, name, content and checksum, the last of them IEND. */
function png(): ContainerReader {
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
    integrity: () => reached(isLast && skip === 0, 'png'),
  }
}

/**
 * Segments with a length, which may hold a thumbnail with an end of its own, and between them the picture's data,
 * in which a byte ff is always followed by 00 or a restart mark.
 */
function jpeg(): ContainerReader {
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
    // The picture's size is not always within what is kept of its beginning: that there is a frame has to do.
    integrity: () =>
      state === 'last' && !hasFrame
        ? damaged('its header cannot be read')
        : reached(state === 'last', 'jpeg'),
  }
}

function afterMarker(code: number): 'data' | 'marker' | 'length' | 'last' {
  if (code === 0xff) return 'marker'
  if (code === 0xd9) return 'last'
  const standsAlone = code <= 0x01 || (code >= 0xd0 && code <= 0xd8)
  return standsAlone ? 'data' : 'length'
}

function webp(): ContainerReader {
  return readRiff('WEBP')
}

/** A RIFF file: its size stands at byte 4 and counts what follows it. One that is written live may have no size. */
export function readRiff(name: string): ContainerReader {
  const size = Buffer.alloc(4)
  let count = 0
  return {
    add(bytes) {
      for (let at = Math.max(0, 4 - count); count + at < 8 && at < bytes.length; at++) {
        size[count + at - 4] = bytes[at]!
      }
      count += bytes.length
    },
    integrity() {
      const length = size.readUInt32LE()
      if (count >= 8 && (length === 0 || length === 0xff_ff_ff_ff)) return unknownEnd
      return count >= 8 && count >= 8 + length ? whole : short(`the ${name} data ends too early`)
    },
  }
}

/** A screen with its palette, then pictures and extensions, each with its data in blocks, and 3b as the last byte. */
function gif(): ContainerReader {
  const steps: PushedSteps<boolean> = pushInto(gifBlocks())
  return {
    add: (bytes) => steps.add(bytes),
    integrity: () =>
      steps.result === false
        ? damaged('its parts are in no order that a GIF has')
        : reached(steps.result === true, 'gif'),
  }
}

function* gifBlocks(): Steps<boolean> {
  yield* skip(paletteBytes((yield* take(13))[10]!))
  for (;;) {
    const kind = (yield* take(1))[0]!
    if (kind === 0x3b) return true
    if (kind === 0x2c) {
      yield* skip(paletteBytes((yield* take(9))[8]!))
      // How many bits the first codes of the picture have.
      yield* skip(1)
    } else if (kind === 0x21) yield* skip(1)
    // Some writers leave a zero too many behind the blocks.
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
