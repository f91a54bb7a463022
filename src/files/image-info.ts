import { openContainer, type Shape } from './containers.ts'
import type { MediaKind } from './media-file.ts'
import { sniffMediaType } from './media-type.ts'

export type ImageInfo = NonNullable<ReturnType<typeof imageInfoOf>>

type ImageFormat = 'png' | 'jpeg' | 'webp' | 'gif'

/** Enough for the header, unless there is unusually long metadata before it. */
export const imageInfoHeadBytes = 1024 * 1024

/** Undefined for any other format, or if the header is damaged or incomplete. @param head the first bytes */
export function readImageInfo(head: Uint8Array): ImageInfo | undefined {
  const mediaType = sniffMediaType(head) ?? ''
  const container = openContainer(mediaType)
  container.add(head)
  return imageInfoOf(mediaType, container.shape)
}

export function imageInfoOf(mediaType: string, { width, height, hasAlpha }: Shape) {
  if (width === null || height === null || hasAlpha === undefined) return undefined
  const format = formatOf(mediaType) as ImageFormat
  return { format, mediaType: `image/${format}` as const, width, height, hasAlpha }
}

export interface ImageFacts {
  readonly format: string
  readonly width: number | null
  readonly height: number | null
}

export const imageKind: MediaKind<ImageFacts> = {
  noun: 'image',
  factsOf: (mediaType, { width, height }) => ({ format: formatOf(mediaType), width, height }),
}

function formatOf(mediaType: string): string {
  return /^image\/(.+)/.exec(mediaType)?.[1] ?? 'bin'
}
