import { join } from 'node:path'
import type { SavedFile, TextEvent } from '../events/text.ts'
import { ContractError, ModelgateError } from '../errors.ts'
import { openAtomicFile } from '../files/atomic-file.ts'
import { openContainer } from '../files/containers.ts'
import { shownPath } from '../files/file-error.ts'
import { safeFileName } from '../files/file-name.ts'
import { decodeBase64 } from '../files/media-references.ts'
import { extensionOf, sniffMediaType } from '../files/media-type.ts'
import type { Call } from './operation.ts'

export type ImageData = Extract<TextEvent, { type: 'image-data' }>

export type ImageSaver = ReturnType<typeof createImageSaver>

/**
 * Saves the media in a text reply, in order. Files are named after the response and never overwrite anything. An image that
 * cannot be written has been paid for, so it is saved in the rescue folder. Unreadable data is not saved, and incomplete data
 * is kept as `NAME.damaged.EXT`.
 * @param files to which those saved are added
 * @param warn gets the reason for each image that is not saved
 */
export function createImageSaver(
  { context, listener, redactor, rescueFolder }: Omit<Call, 'gateway' | 'hasSent'>,
  folder: string,
  files: SavedFile[],
  warn: (message: string) => void,
) {
  let count = 0
  const failures: ModelgateError[] = []
  const saveOne = async ({ base64, mime_type: declared }: ImageData, id: string | null) => {
    const data = decodeBase64(base64)
    if (data === undefined) {
      const isAddress = /^\s*https?:\/\//i.test(base64)
      if (!isAddress) throw broken('An image of the reply is not valid base64 and is not saved.')
      // Some gateways send a URL in place of the data.
      warn(`The reply contains only the URL of an image: ${base64.trim().slice(0, 2000)}`)
      return undefined
    }
    const name = id === null ? context.clock.now() : redactor.text(id)
    const stem = safeFileName(`modelgate-${name}-${++count}`)
    // The declared type may be wrong; the bytes are not (quirk 15).
    const sniffed = sniffMediaType(data.subarray(0, 4096))
    const mediaType = sniffed === undefined || sniffed === 'text/plain' ? declared : sniffed
    const container = openContainer(sniffed?.startsWith('image/') === true ? sniffed : '')
    container.add(data)
    const { damage } = container.integrity()
    const ending = `${damage === undefined ? '' : '.damaged'}.${extensionOf(mediaType)}`
    const place = { force: false, numbered: true, rescueFolder, hasArrived: true }
    const file = await openAtomicFile(context, join(folder, stem + ending), place)
    await file.write(data)
    const { rescued, ...saved } = await file.commit()
    if (rescued !== undefined) throw rescued
    if (damage === undefined) return { ...saved, mime_type: mediaType }
    throw broken(`An image of the reply is damaged: ${damage}. It is kept as ${shownPath(saved.path)}.`)
  }
  return {
    /** Resolves when all have been written or have failed. @param id of the response; null until it is known */
    async save(images: readonly ImageData[], id: string | null): Promise<void> {
      for (const image of images) {
        const file = await saveOne(image, id).catch((error: unknown) => {
          if (!(error instanceof ModelgateError)) throw error
          failures.push(error)
          warn(error.message)
        })
        if (file === undefined) continue
        files.push(file)
        listener.event({ type: 'file-save', file })
      }
    },
    /** Exit 12 if others were saved, else 10 or 8. @param hasWords whether the reply contains anything besides images */
    failure(hasWords: boolean): ModelgateError | undefined {
      const [first] = failures
      if (first === undefined) return undefined
      const isBroken = first.exit === 'contract'
      if (isBroken && files.length === 0 && !hasWords) return first
      const rescued = failures.flatMap(({ facts }) => facts.rescued ?? [])
      const facts = { phase: 'output', billed: 'yes', rescued } as const
      if (files.length === 0 && !isBroken) return first.amend({ exit: 'io', ...facts })
      const message = `${failures.length} of ${failures.length + files.length} images could not be saved.`
      return first.amend({ exit: 'partial', code: 'some_failed', message, ...facts })
    },
  }
}

function broken(message: string): ContractError {
  return new ContractError('damaged_media', message, { billed: 'yes', hint: 'Look at the reply with --raw.' })
}
