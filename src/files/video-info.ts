import { ContractError } from '../errors.ts'
import { readRiff } from './container-end.ts'
import { createMatroskaReader } from './matroska-info.ts'
import type { MediaInspector, MediaKind } from './media-file.ts'
import { sniffMediaType, describeContent } from './media-type.ts'
import { createMp4Reader } from './mp4-info.ts'
import type { VideoReader, VideoShape } from './video-shape.ts'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import type { Context } from '../context.ts'
import type { SavedVideo } from '../events/video.ts'

export type VideoFormat = 'mp4' | 'mov' | 'webm' | 'mkv' | 'avi'

/** What is told of a video. */
export interface VideoFacts extends VideoShape {
  readonly format: VideoFormat
}

export const videoMediaTypes: Readonly<Record<VideoFormat, string>> = {
  mp4: 'video/mp4',
  mov: 'video/quicktime',
  webm: 'video/webm',
  mkv: 'video/x-matroska',
  avi: 'video/x-msvideo',
}

const readers: Readonly<Record<VideoFormat, () => VideoReader>> = {
  mp4: createMp4Reader,
  mov: createMp4Reader,
  webm: createMatroskaReader,
  mkv: createMatroskaReader,
  avi: () => ({ ...readRiff('AVI'), shape: () => ({ width: null, height: null, seconds: null }) }),
}

/** Enough for the brands of an MP4 and the document type of a WebM. */
const formatBytes = 64

export const videoKind: MediaKind<VideoFacts> = { noun: 'video', createInspector }

function createInspector(): MediaInspector<VideoFacts> {
  const head = Buffer.alloc(formatBytes)
  let headLength = 0
  /** Once enough has come to be sure. */
  let known: { readonly format: VideoFormat; readonly reader: VideoReader } | undefined

  /** @throws ContractError `not_a_video` */
  function identify() {
    const start = head.subarray(0, headLength)
    const format = videoFormatOf(start)
    if (format === undefined) throw notAVideo(start)
    const reader = readers[format]()
    reader.add(start)
    return { format, reader }
  }
  return {
    add(bytes) {
      const kept = bytes.subarray(0, formatBytes - headLength)
      // A copy, because whoever gives the bytes may use their memory again.
      head.set(kept, headLength)
      headLength += kept.length
      if (known !== undefined) known.reader.add(bytes)
      else if (headLength === formatBytes) {
        known = identify()
        known.reader.add(bytes.subarray(kept.length))
      }
      return known && videoMediaTypes[known.format]
    },
    inspect() {
      if (headLength === 0) throw new ContractError('empty_video', 'The gateway sent a video of 0 bytes.')
      const { format, reader } = known ?? identify()
      return {
        mediaType: videoMediaTypes[format],
        facts: { format, ...reader.shape() },
        integrity: reader.integrity(),
      }
    },
  }
}

function videoFormatOf(start: Buffer): VideoFormat | undefined {
  const mediaType = sniffMediaType(start)
  const formats = Object.keys(videoMediaTypes) as VideoFormat[]
  return formats.find((format) => videoMediaTypes[format] === mediaType) ?? oldQuickTime(start)
}

/** QuickTime files had no `ftyp` once: then one of these boxes comes first. */
function oldQuickTime(start: Buffer): VideoFormat | undefined {
  const type = start.toString('latin1', 4, 8)
  return start[0] === 0 && ['moov', 'mdat', 'wide', 'free', 'skip', 'pnot'].includes(type) ? 'mov' : undefined
}

function notAVideo(start: Buffer): ContractError {
  return new ContractError('not_a_video', `The gateway sent ${describeContent(start)} in place of a video.`)
}

/**
 * A video that is there already, as it was described when it was saved; undefined for anything else, for a damaged one,
 * and for none. `verified` tells what its container alone does.
 */
export async function describeVideoFile(
  { cwd }: Pick<Context, 'cwd'>,
  path: string,
): Promise<SavedVideo | undefined> {
  const inspector = videoKind.createInspector()
  const hash = createHash('sha256')
  let bytes = 0
  try {
    for await (const chunk of createReadStream(resolve(cwd, path), {
      highWaterMark: 1 << 20,
    }) as AsyncIterable<Buffer>) {
      inspector.add(chunk)
      hash.update(chunk)
      bytes += chunk.length
    }
    const { mediaType, facts, integrity } = inspector.inspect()
    if (integrity.damage !== undefined) return undefined
    const verified = integrity.state === 'whole'
    return { ...facts, path, bytes, sha256: hash.digest('hex'), mime_type: mediaType, verified }
  } catch {
    return undefined
  }
}
