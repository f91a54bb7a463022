import type { ModelgateError } from '../../errors.ts'
import type { MediaWriter } from '../../files/media-file.ts'

/** Takes the bytes of one image. */
export type ImageWriter = MediaWriter<void>

export interface ImageStart {
  /** Position among the images of the reply, from 0. */
  readonly index: number
  /** Which partial image it is, from 0; null for the image itself. */
  readonly partial: number | null
}

/** Receives the images of a reply while it arrives. */
export interface ImageReceiver {
  /** How many images were requested: lets the reply end as soon as they are there. */
  readonly count?: number
  /**
   * Called with each chunk as it comes; the reply waits for it. With it all of the reply is read, whatever is in it,
   * before an error in it is thrown.
   */
  pass?(chunk: Uint8Array): Promise<void>
  open(image: ImageStart): Promise<ImageWriter>
  /** Called after each chunk from the network; the reply waits for it. */
  flush?(): Promise<void>
  /** Called when an image is complete, or after `url`, with everything that the reply says about it. */
  received?(image: ReceivedImage): Promise<void>
  /** Called for an image that must be fetched from a URL, which may be relative to the base URL. */
  url(item: { readonly index: number; readonly url: string }): Promise<void> | void
  /** Called for each image that is broken or missing while others came. Without it the first failure is thrown. */
  failed?(item: FailedImage): void
  /** Called with the usage of each message that has one, also of a reply that breaks off afterwards. */
  usage?(usage: unknown): void
  /** Called when the headers have been received. */
  replied?(requestId: string | null): void
}

/** An item of a reply without an image, or with a broken one. */
export interface FailedImage {
  readonly index: number
  readonly error: ModelgateError
}

/** A whole image, or the URL of one. */
export interface ReceivedImage {
  readonly index: number
  readonly revised_prompt: string | null
}
