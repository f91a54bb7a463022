import { asModelgateError, ModelgateError } from '../../errors.ts'
import { download } from '../../gateway/download.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { Album, FoundLink } from './album.ts'
import type { ImageOptions } from './image-options.ts'
import type { ImageReport } from './image-report.ts'

/** A result is at most this large (faults, section 1.5). */
const maxDownloadBytes = 2 * 1024 ** 3

/**
 * Downloads every result at once: its address lives only for a while. One that cannot be had does not keep the others;
 * its address is reported, for it has been paid for.
 * @throws ModelgateError when no image at all was saved
 */
export async function fetchResults(
  gateway: Gateway,
  options: ImageOptions,
  album: Album,
  report: ImageReport,
): Promise<void> {
  const failures: { readonly index: number; readonly error: ModelgateError }[] = []
  for (const found of album.found) {
    const { index, url } = found
    const writer = album.openDownload(index)
    try {
      await download(gateway, url, writer, {
        maxBytes: maxDownloadBytes,
        allowPrivate: options.allowPrivateUrls === true,
      })
      await writer.done()
    } catch (error) {
      await writer.drop()
      if (gateway.signal.aborted) throw error
      album.links.push(report.link(found))
      failures.push({ index, error: downloadError(error, found, options.debug === true) })
    }
  }
  // Nothing at all was saved: then the first failure is the command's.
  if (failures[0] !== undefined && album.saved.size === 0) throw failures[0].error
  for (const { index, error } of failures) album.fail(index, error)
}

/** The image has been made. To run the command again would make, and bill, another one. */
function downloadError(error: unknown, { url }: FoundLink, debug: boolean): ModelgateError {
  const known = asModelgateError(error, debug)
  if (known.exit === 'bug' || known.exit === 'io') return known
  const { hint, ...facts } = known.facts
  const address = url.startsWith('data:') ? undefined : `The image has been made; its address is ${url}`
  const hints = [hint, address].filter((line) => line !== undefined)
  return new ModelgateError(known.exit === 'notSent' ? 'later' : known.exit, known.code, known.message, {
    ...facts,
    phase: 'result',
    billed: 'yes',
    ...(hints.length === 0 ? {} : { hint: hints.join(' ') }),
  })
}
