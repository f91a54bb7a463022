import { ModelgateError } from '../../errors.ts'
import type { ImageWriter } from '../../gateway/images/image-receiver.ts'

/**
 * A writer for what is worth less than what comes after it: a preview that the disk does not take keeps no image from
 * coming. What the image itself has wrong is still told.
 * @param failed is told, once, why nothing is written
 */
export function dispensable(writer: ImageWriter, failed: (error: ModelgateError) => void): ImageWriter {
  let isGivenUp = false
  const attempt = async (step: () => Promise<void>) => {
    if (isGivenUp) return
    try {
      await step()
    } catch (error) {
      const isLocal = error instanceof ModelgateError && (error.exit === 'io' || error.exit === 'usage')
      if (!isLocal) throw error
      isGivenUp = true
      await writer.drop()
      failed(error)
    }
  }
  return {
    write: (bytes) => attempt(() => writer.write(bytes)),
    done: () => attempt(() => writer.done()),
    async keepDamaged() {
      await writer.drop()
      return undefined
    },
    drop: () => writer.drop(),
  }
}
