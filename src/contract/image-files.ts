/** Megabytes as the specification's limits count them. */
const MB = 1_000_000

/** What may be uploaded for an edit (specification, Limits). */
export interface SourceLimits {
  readonly maxCount: number
  /** Each file must be smaller than this many bytes. */
  readonly below: number
  readonly mediaTypes: readonly string[]
  readonly square: boolean
}

export const sourceLimits: Readonly<
  Record<'image-model-a' | 'image-model-a-mini' | 'image-model-b', SourceLimits>
> = {
  'image-model-a': {
    maxCount: 16,
    below: 50 * MB,
    mediaTypes: ['image/png', 'image/webp', 'image/jpeg'],
    square: false,
  },
  'image-model-a-mini': {
    maxCount: 16,
    below: 50 * MB,
    mediaTypes: ['image/png', 'image/webp', 'image/jpeg'],
    square: false,
  },
  'image-model-b': { maxCount: 1, below: 4 * MB, mediaTypes: ['image/png'], square: true },
}

/** A mask is a PNG with an alpha channel and the dimensions of the first image (specification, Limits). */
export const maskLimits = { below: 4 * MB, mediaTypes: ['image/png'] } as const
