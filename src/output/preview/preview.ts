/** `auto` takes the best that the terminal has. */
export type PreviewMode = 'auto' | 'kitty' | 'iterm' | 'sixel' | 'blocks' | 'off'

export interface PreviewImage {
  readonly bytes: Uint8Array
  /** As declared; the bytes decide. */
  readonly mediaType: string
  /** One line below the picture. */
  readonly caption?: string
}

/** Shows pictures on the terminal. */
export interface Preview {
  /** Never throws: what cannot be shown is skipped, and the first time that is said. */
  show(image: PreviewImage): Promise<void>
}
