import { asModelgateError, Interrupted, ModelgateError } from '../../errors.ts'
import { download } from '../../gateway/download/download.ts'
import { keepDamaged } from '../../files/media-file.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { ImageResults, FoundLink } from './image-results.ts'
import type { ImageOptions } from './image-options.ts'
import type { ImageReport } from './image-report.ts'

/**
 * Downloads every result at once: its address lives only for a while. One that cannot be had does not keep the others;
 * its address is reported, for it has been paid for.
 * @throws ModelgateError when no image at all was saved
 */
export async function fetchResults(
  gateway: Gateway,
  options: ImageOptions,
  album: ImageResults,
  report: ImageReport,
): Promise<void> {
  const failures: { readonly found: FoundLink; readonly error: ModelgateError }[] = []
  for (const found of album.found) {
    const { index, url } = found
    const writer = album.openDownload(index)
    try {
      const { isFramed } = await download(gateway, url, writer, {
        allowPrivate: options.allowPrivateUrls === true,
      })
      await writer.done(isFramed)
    } catch (error) {
      if (gateway.signal.aborted) {
        await writer.drop()
        throw stoppedError(error, album, report)
      }
      album.links.push(report.link(found))
      const kept = await keepDamaged(writer, error)
      failures.push({ found, error: downloadError(kept, options.debug === true) })
    }
    await report.tellFiles(index)
  }
  // Nothing at all was saved: then the first failure is the command's.
  if (failures[0] !== undefined && album.saved.size === 0) {
    throw told(
      failures[0].error,
      failures.map(({ found }) => found),
    )
  }
  for (const { found, error } of failures) album.fail(found.index, inOneLine(error, found))
}

/**
 * A signal that came when images had been made: these have been paid for, and the addresses of those that were not
 * fetched are all that is left of them.
 * @param error the reason of the abort
 */
export function stoppedError(error: unknown, album: ImageResults, report: ImageReport): unknown {
  const left = album.found.filter(({ index }) => !album.saved.has(index))
  for (const found of left) if (!album.has(found.index)) album.links.push(report.link(found))
  if (!(error instanceof Interrupted) || (left.length === 0 && album.saved.size === 0)) return error
  const addresses = left.flatMap((found) => addressOf(found) ?? [])
  const hint = addresses.length === 0 ? undefined : addresses.join('\n')
  return error.during(error.facts.phase ?? 'result', 'yes', hint)
}

/** The image has been made. To run the command again would make, and bill, another one. */
function downloadError(error: unknown, debug: boolean): ModelgateError {
  const known = asModelgateError(error, debug)
  if (known.exit === 'bug') return known
  const { hint, ...facts } = known.facts
  return new ModelgateError(known.exit === 'notSent' ? 'later' : known.exit, known.code, known.message, {
    ...facts,
    phase: known.exit === 'io' ? 'output' : 'result',
    billed: 'yes',
    ...(hint !== undefined && isOfUse(known) ? { hint } : {}),
  })
}

/** Other hints are for a request that made nothing: they say to change it, or to run it again. */
function isOfUse({ exit, code }: ModelgateError): boolean {
  return exit === 'io' || exit === 'key' || code === 'url_expired' || code === 'url_refused'
}

/** With where the images are. */
function told(error: ModelgateError, found: readonly FoundLink[]): ModelgateError {
  const { exit, code, message, facts } = error
  const [first, ...others] = found.flatMap((one) => addressOf(one) ?? [])
  const hints = [[facts.hint, first].filter((line) => line !== undefined).join(' '), ...others]
  if (exit === 'bug' || hints[0] === '') return error
  return new ModelgateError(exit, code, message, { ...facts, hint: hints.join('\n') })
}

/** One of several: nothing more is told of it. */
function inOneLine(error: ModelgateError, found: FoundLink): ModelgateError {
  const address = addressOf(found)
  if (address === undefined) return error
  const { exit, code, message, facts } = error
  return new ModelgateError(exit, code, `${message.replace(/[.!?]?$/, '.')} ${address}`, facts)
}

/** Where an image is that has been made; one that its address holds itself is nowhere else. */
function addressOf({ url }: FoundLink): string | undefined {
  return url.startsWith('data:') ? undefined : `The image has been made; its address is ${url}`
}
