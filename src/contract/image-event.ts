import type { SavedFile, Usage } from './text-event.ts'

/** An image that was saved and checked. */
export interface SavedImage extends SavedFile {
  /** `png`, `jpeg`, `webp`, `gif`, or the word of another media type, from its bytes. */
  readonly format: string
  /** In pixels; null where the header cannot be read. */
  readonly width: number | null
  readonly height: number | null
  readonly revised_prompt: string | null
  /** False when neither the image nor its connection told whether all of it came. */
  readonly verified: boolean
}

/** A result that was not downloaded (`--no-download`). */
export interface ImageLink {
  readonly index: number
  readonly url: string
  /** Unix seconds; result URLs live for a fixed time after generation (specification, Limits). */
  readonly expires_at: number
}

/** One of several images that could not be had. */
export interface ImageFailure {
  readonly index: number
  readonly code: string
  readonly message: string
  /** The absolute path of an image that came and could not be written where it belongs; null for others. */
  readonly rescued: string | null
}

/** What is reported while images are made and saved. Images are numbered from 1. */
export type ImageEvent =
  | { readonly type: 'upload-progress'; readonly sent: number; readonly total: number }
  /** A preview of an image that is still being made; the file only with `--save-partials`. */
  | {
      readonly type: 'image-partial'
      readonly index: number
      readonly partial: number
      readonly file: SavedFile | null
    }
  | { readonly type: 'image-save'; readonly index: number; readonly file: SavedImage }
  | { readonly type: 'image-link'; readonly link: ImageLink }
  | { readonly type: 'image-fail'; readonly failure: ImageFailure }

/** The document of the image commands. */
export interface ImageDocument {
  readonly version: number
  readonly command: string
  readonly model: string
  readonly files: readonly SavedImage[]
  readonly usage: Usage | null
  readonly request_id: string | null
  /** The gateway's own object, with null in place of the base64. */
  readonly response: unknown
  readonly partials: readonly SavedFile[]
  readonly links: readonly ImageLink[]
  readonly failures: readonly ImageFailure[]
  readonly warnings: readonly string[]
}
