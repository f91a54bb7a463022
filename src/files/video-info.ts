import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import type { Context } from '../context.ts'
import type { SavedVideo } from '../events/video.ts'
import type { Shape } from './containers.ts'
import { inspectBytes } from './inspect-file.ts'
import { savedAs, type MediaKind } from './media-file.ts'
import { extensionOf } from './media-type.ts'

export const videoFormats = ['mp4', 'mov', 'webm', 'mkv', 'avi', 'mpg', 'ts', 'ogv', 'bin'] as const

export interface VideoFacts extends Omit<Shape, 'hasAlpha'> {
  readonly format: (typeof videoFormats)[number]
}

/** Gateways send MP4. Whether another container is whole cannot be judged. */
export const videoKind: MediaKind<VideoFacts> = {
  noun: 'video',
  factsOf(mediaType, { width, height, seconds }) {
    const format = videoFormats.find((name) => name === extensionOf(mediaType)) ?? 'bin'
    return { format, width, height, seconds }
  },
}

/** As it was described when saved; undefined if it is missing, damaged or not a video. */
export async function describeVideoFile(
  { cwd }: Pick<Context, 'cwd'>,
  path: string,
): Promise<SavedVideo | undefined> {
  const pieces = createReadStream(resolve(cwd, path), { highWaterMark: 1 << 20 })
  const found = await inspectBytes(path, pieces).catch(() => undefined)
  return found && savedAs(videoKind, found)
}
