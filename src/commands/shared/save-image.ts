import type { Context } from '../../context.ts'
import type { SavedFile, TextEvent } from '../../contract/text-event.ts'
import { sniffMediaType } from '../../files/media-type.ts'

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
      const { safeFileName, saveNewFile } = await loadFiles()
      for (const { base64, mime_type: declared } of images) {
        const data = Buffer.from(base64, 'base64')
        const stem = safeFileName(`modelgate-${responseId() ?? context.clock.now()}-${++count}`)
        // The declared type may be wrong; the bytes are not (quirk 15).
        const sniffed = sniffMediaType(data.subarray(0, 4096))
        const mediaType = sniffed === undefined || sniffed === 'text/plain' ? declared : sniffed
        onSaved(await saveNewFile(context, { folder, stem, mediaType, data }))
      }
    },
  }
}

/** Most replies hold no image: what saves one is loaded when the first comes. */
async function loadFiles() {
  const [name, file] = await Promise.all([
    import('../../files/file-name.ts'),
    import('../../files/save-new-file.ts'),
  ])
  return { ...name, ...file }
}
