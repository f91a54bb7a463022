import { rescueFolder } from '../../config/paths.ts'
import type { Context } from '../../context.ts'
import type { SavedFile, TextEvent } from '../../contract/text-event.ts'
import { FileError, ModelgateError } from '../../errors.ts'
import { sniffMediaType } from '../../files/media-type.ts'

type ImageData = Extract<TextEvent, { type: 'image-data' }>

/** Saves the media inside a text reply, in the order in which it comes. */
export interface ImageSaver {
  add(image: ImageData): void
  /**
   * Resolves when everything added so far is on disk, or cannot be: then that is told, and the reply goes on.
   */
  saved(): Promise<void>
  /** What the images that could not be saved make of the command: exit 12 where others were, else 10. */
  failure(): ModelgateError | undefined
  /** How many could not be saved because what came is no base64. */
  readonly unreadable: number
}

/**
 * Files are named after the response and never overwrite anything. Previews of an image that is still
 * being made are not kept: the whole image follows. What cannot be saved in the folder has been paid for,
 * so it is put into the rescue folder.
 * What cannot be read is not saved; the rest of the reply stands.
 * @param onWarning told of each image that is not saved, and why
 */
export function createImageSaver(
  context: Context,
  folder: string,
  responseId: () => string | null,
  onSaved: (file: SavedFile) => void,
  onWarning: (message: string) => void,
): ImageSaver {
  let waiting: ImageData[] = []
  let count = 0
  let unreadable = 0
  let savedCount = 0
  const failures: ModelgateError[] = []
  const fail = (error: unknown) => {
    if (!(error instanceof ModelgateError)) throw error
    failures.push(error)
    onWarning(error.message)
  }
  /** Some give the address of an image where its data belongs. */
  const refuse = (text: string) => {
    const isAddress = /^\s*https?:\/\//i.test(text)
    if (isAddress)
      return onWarning(`The reply gives an image by its address alone: ${text.trim().slice(0, 2000)}`)
    unreadable++
    onWarning('An image of the reply is not valid base64 and is not saved.')
  }
  return {
    add(image) {
      if (!image.partial) waiting.push(image)
    },
    async saved() {
      if (waiting.length === 0) return
      const images = waiting
      waiting = []
      const { decodeBase64, safeFileName, saveNewFile } = await loadFiles()
      for (const { base64, mime_type: declared } of images) {
        const data = decodeBase64(base64)
        if (data === undefined) {
          refuse(base64)
          continue
        }
        const stem = safeFileName(`modelgate-${responseId() ?? context.clock.now()}-${++count}`)
        // The declared type may be wrong; the bytes are not (quirk 15).
        const sniffed = sniffMediaType(data.subarray(0, 4096))
        const mediaType = sniffed === undefined || sniffed === 'text/plain' ? declared : sniffed
        const file = { folder, stem, mediaType, data, rescueFolder: rescueFolder(context) }
        await saveNewFile(context, file).then(({ rescued, ...saved }) => {
          if (rescued === undefined) {
            savedCount++
            onSaved(saved)
          } else fail(rescued)
        }, fail)
      }
    },
    failure() {
      const [first] = failures
      if (first === undefined) return undefined
      const rescued = failures.flatMap(({ facts }) => facts.rescued ?? [])
      const facts = { ...first.facts, phase: 'output', billed: 'yes', rescued } as const
      return savedCount === 0
        ? new FileError(first.code, first.message, facts)
        : new ModelgateError(
            'partial',
            'some_images_failed',
            `${failures.length} of ${failures.length + savedCount} images could not be saved.`,
            facts,
          )
    },
    get unreadable() {
      return unreadable
    },
  }
}

/** Most replies hold no image: what saves one is loaded when the first comes. */
async function loadFiles() {
  const [base64, name, file] = await Promise.all([
    import('../../files/decode-base64.ts'),
    import('../../files/file-name.ts'),
    import('../../files/save-new-file.ts'),
  ])
  return { ...base64, ...name, ...file }
}
