import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import type { Context } from '../context.ts'
import type { SavedVideo } from '../events/video.ts'
import type { Shape } from './containers.ts'
import { inspectBytes } from './inspect-file.ts'
import { savedAs, type MediaKind } from './media-file.ts'

/** The known formats; `bin` is any other. */
export type VideoFormat = 'mp4' | 'mov' | 'webm' | 'mkv' | 'avi' | 'mpg' | 'ts' | 'ogv' | 'bin'

export interface VideoFacts extends Omit<Shape, 'hasAlpha'> {
  readonly format: VideoFormat
}

const videoMediaTypes: Readonly<Record<VideoFormat, string>> = {
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
export const videoKind: MediaKind<VideoFacts> = {
  noun: 'video',
  factsOf(mediaType, { width, height, seconds }) {
    const formats = Object.keys(videoMediaTypes) as VideoFormat[]
    const format = formats.find((name) => videoMediaTypes[name] === mediaType) ?? 'bin'
    return { format, width, height, seconds }
  },
}

/**
 * Describes an existing video as it was described when saved; undefined if it is missing, damaged or not a video.
 * `verified` depends only on its container.
 */
export async function describeVideoFile(
  { cwd }: Pick<Context, 'cwd'>,
  path: string,
): Promise<SavedVideo | undefined> {
  const pieces = createReadStream(resolve(cwd, path), { highWaterMark: 1 << 20 })
  const found = await inspectBytes(path, pieces).catch(() => undefined)
  return found && savedAs(videoKind, found)
}
