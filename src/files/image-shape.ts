/** What every format's header tells of an image. */
export interface ImageShape {
  /** In pixels, as stored: a camera's turn (EXIF orientation) is not applied. */
  readonly width: number
  readonly height: number
  /** Whether pixels can be transparent, not whether any is. */
  readonly hasAlpha: boolean
}

/** What a format's reader finds; undefined when the header is damaged or not whole. */
export type FoundShape = ImageShape | undefined
