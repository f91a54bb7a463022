import { asModelgateError, asSentence, Interrupted, type ModelgateError } from '../errors.ts'
import { keepDamaged } from '../files/media-file.ts'
import { download } from '../gateway/download/download.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { ImagePlan } from './image-request.ts'
import {
  addLink,
  failImage,
  isSettled,
  reportFiles,
  type ImageResults,
  type RemoteImage,
} from './image-results.ts'
import type { ImageWriters } from './image-writers.ts'

/**
 * Downloads all results immediately, since their URLs expire soon. A failed download does not stop the others; its URL
 * is reported, because the image has been paid for.
 * @throws ModelgateError when no image at all was saved
 */
export async function downloadImages(
  gateway: Gateway,
  results: ImageResults,
  { openDownload }: ImageWriters,
  { allowPrivateUrls: allowPrivate }: ImagePlan,
): Promise<void> {
  const failures: { readonly image: RemoteImage; readonly error: ModelgateError }[] = []
  for (const image of results.remote) {
    const { index, url } = image
    const writer = openDownload(index)
    try {
      const { isFramed } = await download(gateway, url, writer, { allowPrivate })
      await writer.commit(isFramed)
    } catch (error) {
      if (gateway.signal.aborted) {
        await writer.discard()
        throw withAddresses(error, results)
      }
      addLink(results, image)
      failures.push({ image, error: downloadError(gateway, await keepDamaged(writer, error)) })
    }
    reportFiles(results, index)
  }
  const [first] = failures
  // Nothing was saved: then the first failure is that of the operation.
  if (first !== undefined && results.saved.size === 0) {
    const [address, ...others] = failures.flatMap(({ image }) => addressOf(image) ?? [])
    const hints = [
      [first.error.facts.hint, address].filter((line) => line !== undefined).join(' '),
      ...others,
    ]
    const isKnown = first.error.exit === 'bug' || hints[0] === ''
    throw isKnown ? first.error : first.error.amend({ hint: hints.join('\n') })
  }
  for (const { image, error } of failures) {
    const address = addressOf(image)
    // One failure of several is reported by its message only.
    const message = address === undefined ? error.message : `${asSentence(error.message)} ${address}`
    failImage(results, image.index, error.amend({ message }))
  }
}

/**
 * Adds the URLs of images that have not been downloaded to an interrupt: the images have been paid for.
 * @param error the reason of the abort
 */
export function withAddresses(error: unknown, results: ImageResults): unknown {
  const { remote, saved } = results
  const left = remote.filter(({ index }) => !saved.has(index))
  for (const image of left) if (!isSettled(results, image.index)) addLink(results, image)
  if (!(error instanceof Interrupted) || (left.length === 0 && saved.size === 0)) return error
  const addresses = left.flatMap((image) => addressOf(image) ?? [])
  const hint = addresses.length === 0 ? undefined : addresses.join('\n')
  return error.amend({ phase: error.facts.phase ?? 'result', billed: 'yes', hint })
}

/**
 * Marks the error as billed and removes hints to run the command again: that would generate, and bill, another image.
 */
function downloadError({ trace }: Gateway, error: unknown): ModelgateError {
  const known = asModelgateError(error, trace !== undefined)
  if (known.exit === 'bug') return known
  return known.amend({
    exit: known.exit === 'notSent' ? 'later' : known.exit,
    phase: known.exit === 'io' ? 'output' : 'result',
    billed: 'yes',
    hint: hintApplies(known) ? undefined : null,
  })
}

/** Other hints suggest to change the request or to run it again, which does not help here. */
function hintApplies({ exit, code }: ModelgateError): boolean {
  return exit === 'io' || exit === 'key' || code === 'url_expired' || code === 'url_refused'
}

/** A hint with the URL of an image; undefined for a data URL, which has no address to fetch it from. */
function addressOf({ url }: RemoteImage): string | undefined {
  return url.startsWith('data:') ? undefined : `The image has been made; its address is ${url}`
}
