import { ModelgateError } from '../errors.ts'
import { shownPath } from '../files/file-error.ts'
import type { ImageWriter } from './images/image-receiver.ts'

/** What says nothing of the content, or that it is more than anybody wants. */
const notWorthKeeping = new Set(['download_too_large', 'image_too_large'])

/**
 * Ends a writer whose content has failed to come whole: what came of it is kept apart, since it is all there is of what
 * has been paid for. What the machine itself could not take is dropped.
 * @returns the error, with where that is
 */
export async function keepDamaged(
  writer: Pick<ImageWriter, 'keepDamaged' | 'drop'>,
  error: unknown,
): Promise<unknown> {
  const isOfContent =
    error instanceof ModelgateError &&
    !['io', 'usage', 'bug'].includes(error.exit) &&
    !notWorthKeeping.has(error.code)
  const kept = isOfContent ? await writer.keepDamaged().catch(() => undefined) : undefined
  await writer.drop()
  if (kept === undefined || !(error instanceof ModelgateError)) return error
  return error.saying(`${error.message.replace(/[.!?]?$/, '.')} What came is kept as ${shownPath(kept)}.`)
}
