import { resolve } from 'node:path'
import type { Context } from '../../context.ts'
import type { SavedFile, TextEvent } from '../../contract/text-event.ts'
import { FileError, ModelgateError } from '../../errors.ts'
import { sniffMediaType } from '../../files/media-type.ts'
import type { NewFile } from '../../files/save-new-file.ts'

type ImageData = Extract<TextEvent, { type: 'image-data' }>

/** Saves the media inside a text reply, in the order in which it comes. */
export interface ImageSaver {
  add(image: ImageData): void
  /**
   * Resolves when everything added so far is on disk.
   * @throws FileError (exit 10, billed) when some of it cannot be; the rest is
   */
  saved(): Promise<void>
  /** How many could not be saved because what came is no base64. */
  readonly unreadable: number
}

/**
 * Files are named after the response and never overwrite anything. Previews of an image that is still
 * being made are not kept: the whole image follows. What cannot be saved in the folder has been paid for,
 * so it is saved in the working directory instead.
 * What cannot be read is not saved; the rest of the reply stands.
 * @param onWarning told once that the folder is not used, and why; and of each image that is not saved
 */
export function createImageSaver(
  context: Context,
  folder: string,
  responseId: () => string | null,
  onSaved: (file: SavedFile) => void,
  onWarning: (message: string) => void,
): ImageSaver {
  let place = folder
  let waiting: ImageData[] = []
  let count = 0
  let unreadable = 0
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
      const save = async (file: Omit<NewFile, 'folder'>): Promise<SavedFile> => {
        try {
          return await saveNewFile(context, { ...file, folder: place })
        } catch (error) {
          if (!(error instanceof ModelgateError)) throw error
          if (resolve(context.cwd, place) === resolve(context.cwd)) throw lost(error)
          const saved = await saveNewFile(context, { ...file, folder: '.' }).catch(() => {
            throw lost(error)
          })
          place = '.'
          onWarning(`${error.message} The image is saved in the working directory instead.`)
          return saved
        }
      }
      const failures: unknown[] = []
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
        await save({ stem, mediaType, data }).then(onSaved, (error: unknown) => failures.push(error))
      }
      if (failures.length > 0) throw failures[0]
    },
    get unreadable() {
      return unreadable
    },
  }
}

/** Whatever kept it from the disk: the reply is there, so the call was not wrong, and it was billed. */
function lost({ code, message, facts }: ModelgateError): FileError {
  return new FileError(code, message, { ...facts, phase: 'output', billed: 'yes' })
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
