import type { Context } from '../context.ts'
import type { SavedVideo } from '../events/video.ts'
import { uncheckedContainer, type ContainerReader, type VideoReader, type VideoShape } from './byte-steps.ts'
import { inspectFile, mediaKind, type MediaKind } from './media-file.ts'
import { createMp4Reader } from './mp4-info.ts'

/** The known formats; `bin` is any other. */
export type VideoFormat = 'mp4' | 'mov' | 'webm' | 'mkv' | 'avi' | 'mpg' | 'ts' | 'ogv' | 'bin'

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

/** Gateways send MP4. Whether another container is whole cannot be judged. */
function readerOf(format: VideoFormat): VideoReader {
  const isMp4 = format === 'mp4' || format === 'mov'
  return isMp4 ? createMp4Reader() : withoutShape(uncheckedContainer())
}

function withoutShape(reader: ContainerReader): VideoReader {
  return { ...reader, shape: () => ({ width: null, height: null, seconds: null }) }
}

export const videoKind: MediaKind<VideoFacts> = mediaKind({
  noun: 'video',
  // Enough for the brands of an MP4.
  signatureBytes: 64,
  openReader: (mediaType) => readerOf(formatOf(mediaType)),
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
 * Describes an existing video as it was described when saved; undefined if it is missing, damaged or not a video.
 * `verified` depends only on its container.
 */
export async function describeVideoFile(
  context: Pick<Context, 'cwd'>,
  path: string,
): Promise<SavedVideo | undefined> {
  const found = await inspectFile(context, videoKind, path).catch(() => undefined)
  return found?.damage === undefined ? found?.file : undefined
}
