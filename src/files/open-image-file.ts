import { basename } from 'node:path'
import type { Context } from '../context.ts'
import { ContractError } from '../errors.ts'
import type { AtomicFile, WrittenFile } from './atomic-file.ts'
import { openResultFile, type Rescue } from './open-atomic-file.ts'
import { extensionOf } from './file-extension.ts'
import type { ImageFormat } from './image-info.ts'
import { createImageInspector } from './image-inspector.ts'
import { numberedName } from './numbered-name.ts'

/** An image on its way into a file that appears whole or not at all. */
export interface ImageFile {
  /**
   * @throws ContractError `not_an_image` as soon as the first bytes tell
   * @throws FileError, UsageError as `openAtomicFile` does
   */
  write(bytes: Uint8Array): Promise<void>
  /**
   * Checks the image and gives the file its name. The last call.
   * @throws ContractError `empty_image`, `not_an_image`, `damaged_image`; nothing is left behind then
   * @throws FileError
   */
  finish(): Promise<SavedImage>
  /** Removes what was written. Never throws, may be called at any time and more than once. */
  discard(): Promise<void>
}

/** An image this program wrote. */
export interface SavedImage extends WrittenFile {
  readonly format: ImageFormat
  /** In pixels; null only for an image that was kept although it is damaged. */
  readonly width: number | null
  readonly height: number | null
  readonly mime_type: string
}

export interface ImageFileOptions extends Partial<Rescue> {
  /** The path for an extension (without dot), which is known only when the first bytes have come. */
  readonly nameFor: (extension: string) => string
  /** Replace an existing file. Without it a file whose name is taken gets the next free one: `NAME-2`, `NAME-3`, … */
  readonly force: boolean
  /** Told when the image is saved under another name than planned, because somebody else had taken that. */
  readonly renamed?: (planned: string, saved: string) => void
  /**
   * Told what is wrong with an image whose container ends early or whose header cannot be read; it is kept then.
   * Without this such an image is refused.
   */
  readonly damaged?: (path: string, damage: string) => void
}

/**
 * Prepares a file for an image. It is created (under a temporary name) when the first bytes show that it is one,
 * so that an error page never becomes a file.
 */
export function openImageFile(context: Context, options: ImageFileOptions): ImageFile {
  const inspector = createImageInspector()
  const waiting: Uint8Array[] = []
  let file: AtomicFile | undefined
  let planned = ''

  async function open(format: ImageFormat): Promise<AtomicFile> {
    planned = options.nameFor(extensionOf(`image/${format}`))
    file = await openResultFile(context, planned, {
      ...options,
      spareName: (count) => numberedName(basename(planned), count),
    })
    for (const bytes of waiting.splice(0)) await file.write(bytes)
    return file
  }
  async function discard() {
    waiting.length = 0
    await file?.discard()
  }
  async function orDiscard<Value>(step: () => Promise<Value>): Promise<Value> {
    try {
      return await step()
    } catch (error) {
      await discard()
      throw error
    }
  }
  return {
    write: (bytes) =>
      orDiscard(async () => {
        const format = inspector.add(bytes)
        if (file !== undefined) return await file.write(bytes)
        waiting.push(Buffer.from(bytes))
        if (format !== undefined) await open(format)
      }),
    finish: () =>
      orDiscard(async () => {
        const { format, info, damage } = inspector.finish()
        if (damage !== undefined && options.damaged === undefined) throw damagedImage(damage)
        const written = await (file ?? (await open(format))).commit()
        if (written.rescued === undefined && written.path !== planned)
          options.renamed?.(planned, written.path)
        if (damage !== undefined) options.damaged?.(written.path, damage)
        const { width = null, height = null } = info ?? {}
        return { ...written, format, width, height, mime_type: `image/${format}` }
      }),
    discard,
  }
}

/** The image came, and is not whole. */
export function damagedImage(damage: string): ContractError {
  return new ContractError('damaged_image', `The gateway sent a damaged image: ${damage}.`)
}
