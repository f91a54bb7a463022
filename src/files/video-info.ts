import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import type { Context } from '../context.ts'
import type { SavedVideo } from '../events/video.ts'
import { readRiff } from './container-end.ts'
import { uncheckedContainer, type ContainerReader, type VideoReader, type VideoShape } from './byte-steps.ts'
import { createMatroskaReader } from './matroska-info.ts'
import { mediaKind, type MediaKind } from './media-file.ts'
import { createMp4Reader } from './mp4-info.ts'

/** The formats that are known; `bin` stands for all others. */
export type VideoFormat = 'mp4' | 'mov' | 'webm' | 'mkv' | 'avi' | 'mpg' | 'ts' | 'ogv' | 'bin'

/** What is reported about a video. */
export interface VideoFacts extends VideoShape {
  readonly format: VideoFormat
}

export const videoMediaTypes: Readonly<Record<VideoFormat, string>> = {
  mp4: 'video/mp4',
  mov: 'video/quicktime',
  webm: 'video/webm',
  mkv: 'video/x-matroska',
  avi: 'video/x-msvideo',
  mpg: 'video/mpeg',
  ts: 'video/mp2t',
  ogv: 'video/ogg',
  bin: 'application/octet-stream',
}

const readers: Readonly<Partial<Record<VideoFormat, () => VideoReader>>> = {
  mp4: createMp4Reader,
  mov: createMp4Reader,
  webm: createMatroskaReader,
  mkv: createMatroskaReader,
  avi: () => withoutShape(readRiff('AVI')),
}

function withoutShape(reader: ContainerReader): VideoReader {
  return { ...reader, shape: () => ({ width: null, height: null, seconds: null }) }
}

export const videoKind: MediaKind<VideoFacts> = mediaKind({
  noun: 'video',
  // Enough for the brands of an MP4 and the document type of a WebM.
  signatureBytes: 64,
  openReader: (mediaType) => readers[formatOf(mediaType)]?.() ?? withoutShape(uncheckedContainer()),
  describe: (mediaType, reader) => ({
    facts: { format: formatOf(mediaType), ...reader.shape() },
    integrity: reader.integrity(),
  }),
})

function formatOf(mediaType: string): VideoFormat {
  const formats = Object.keys(videoMediaTypes) as VideoFormat[]
  return formats.find((format) => videoMediaTypes[format] === mediaType) ?? 'bin'
}

/**
 * A video that is there already, as it was described when it was saved; undefined for anything else, for a damaged one,
 * and for none. `verified` says what its container alone shows.
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
