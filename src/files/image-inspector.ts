import { readContainer } from './container-end.ts'
import { imageInfoHeadBytes, readImageInfo } from './image-info.ts'
import { damaged } from './byte-steps.ts'
import { mediaKind, type MediaKind } from './media-file.ts'

/** What is reported about an image. */
export interface ImageFacts {
  /** `png`, `jpeg`, `webp`, `gif`, the media type's own word for another, or `bin` for an unknown one. */
  readonly format: string
  /** In pixels; null where the header cannot be read. */
  readonly width: number | null
  readonly height: number | null
}

export const imageKind: MediaKind<ImageFacts> = mediaKind({
  noun: 'image',
  // Enough for the brands of an AVIF.
  signatureBytes: 32,
  headBytes: imageInfoHeadBytes,
  openReader: (mediaType) => readContainer(formatOf(mediaType)),
  describe(mediaType, reader, head) {
    const info = readImageInfo(head)
    const found = reader.integrity()
    const isLegible = info !== undefined || !/^image\/(png|webp|gif)$/.test(mediaType)
    const { width = null, height = null } = info ?? {}
    return {
      facts: { format: formatOf(mediaType), width, height },
      integrity: found.state === 'whole' && !isLegible ? damaged('its header cannot be read') : found,
    }
  },
  hint: 'Add --raw to see the reply as it was received.',
})

function formatOf(mediaType: string): string {
  return /^image\/(.+)/.exec(mediaType)?.[1] ?? 'bin'
}
