import type { Context } from '../../context.ts'
import type { SavedFile, TextEvent } from '../../contract/text-event.ts'
import { safeFileName } from '../../files/file-name.ts'
import { sniffMediaType } from '../../files/media-type.ts'
import { saveNewFile } from '../../files/save-new-file.ts'

type ImageData = Extract<TextEvent, { type: 'image-data' }>

/** Saves the media inside a text reply, in the order in which it comes. */
export interface ImageSaver {
  add(image: ImageData): void
  /** Resolves when everything added so far is on disk. @throws FileError when it cannot be */
  saved(): Promise<void>
}

/**
 * Files are named after the response and never overwrite anything. Previews of an image that is still
 * being made are not kept: the whole image follows.
 */
export function createImageSaver(
  context: Context,
  folder: string,
  responseId: () => string | null,
  onSaved: (file: SavedFile) => void,
): ImageSaver {
  let waiting: ImageData[] = []
  let count = 0
  return {
    add(image) {
      if (!image.partial) waiting.push(image)
    },
    async saved() {
      if (waiting.length === 0) return
      const images = waiting
      waiting = []
      for (const { base64, mime_type: declared } of images) {
        const data = Buffer.from(base64, 'base64')
        const stem = safeFileName(`modelgate-${responseId() ?? context.clock.now()}-${++count}`)
        // The declared type may be wrong; the bytes are not (quirk 15).
        const mediaType = sniffMediaType(data.subarray(0, 4096)) ?? declared
        onSaved(await saveNewFile(context, { folder, stem, mediaType, data }))
      }
    },
  }
}
