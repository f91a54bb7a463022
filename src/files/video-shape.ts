import type { ContainerReader } from './integrity.ts'

/** What a container tells of its video; null where it does not. */
export interface VideoShape {
  /** In pixels, as the video is stored. */
  readonly width: number | null
  readonly height: number | null
  readonly seconds: number | null
}

/** Follows a video, and reads its description on the way. */
export interface VideoReader extends ContainerReader {
  shape(): VideoShape
}
