/** What a container tells of its video; null where it does not. */
export interface VideoShape {
  /** In pixels, as the video is stored. */
  readonly width: number | null
  readonly height: number | null
  readonly seconds: number | null
  /** What is wrong with it, as the end of a sentence; undefined when the container is whole. */
  readonly damage: string | undefined
}
