import { createHash } from 'node:crypto'
import type { Context } from '../context.ts'
import { createImageInspector } from './image-inspector.ts'
import { damagedImage } from './open-image-file.ts'
import type { ImageFile, ImageFileOptions } from './open-image-file.ts'

/**
 * Hands an image to standard output as it comes (`-o -`), nothing of it before the first bytes have shown that it is
 * one. What is found wrong at its end is told, but has been written by then. The path of the result is `-`.
 */
export function streamImage(
  { stdout }: Pick<Context, 'stdout'>,
  { damaged }: Pick<ImageFileOptions, 'damaged'> = {},
): ImageFile {
  const inspector = createImageInspector()
  const hash = createHash('sha256')
  const waiting: Uint8Array[] = []
  let bytesWritten = 0

  async function pass(bytes: Uint8Array) {
    stdout.write(bytes)
    hash.update(bytes)
    bytesWritten += bytes.length
    if (stdout.needsDrain) await stdout.drain()
  }
  async function passWaiting() {
    for (const bytes of waiting.splice(0)) await pass(bytes)
  }
  return {
    async write(bytes) {
      // A copy, because the stream may hold it longer than whoever gives it.
      waiting.push(Buffer.from(bytes))
      if (inspector.add(bytes) !== undefined) await passWaiting()
    },
    async finish() {
      const { format, info, damage } = inspector.finish()
      if (damage !== undefined && damaged === undefined) throw damagedImage(damage)
      await passWaiting()
      await stdout.drain()
      if (damage !== undefined) damaged?.('-', damage)
      const { width = null, height = null } = info ?? {}
      return {
        path: '-',
        bytes: bytesWritten,
        sha256: hash.digest('hex'),
        format,
        width,
        height,
        mime_type: `image/${format}`,
      }
    },
    async discard() {
      waiting.length = 0
    },
  }
}
