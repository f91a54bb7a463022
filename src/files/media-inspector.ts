import { ContractError } from '../errors.ts'
import type { ContainerReader, Integrity } from './container.ts'
import { describeContent, looksLikeText, sniffMediaType } from './media-type.ts'

/** Images or videos: how they are recognized, checked and described. */
export interface MediaKind<Facts> {
  readonly noun: 'image' | 'video'
  createInspector(): MediaInspector<Facts>
}

/** Inspects media while they are being written. */
export interface MediaInspector<Facts> {
  /**
   * Takes the next bytes, in pieces of any size. Gives the media type once the first bytes have shown it;
   * `application/octet-stream` for a format that is not known, which may be a valid one all the same.
   * @throws ContractError `not_an_image`, `not_a_video` for what is known to be something else
   */
  add(bytes: Uint8Array): string | undefined
  /**
   * What has arrived so far; more may be added afterwards.
   * @throws ContractError the same; `empty_image`, `empty_video`
   */
  inspect(): Inspected<Facts>
}

export interface Inspected<Facts> {
  readonly mediaType: string
  readonly facts: Facts
  readonly integrity: Integrity
}

interface KindParts<Facts, Reader extends ContainerReader> {
  readonly noun: 'image' | 'video'
  /** So many bytes show every known format; nothing of an unknown format is shorter. */
  readonly signatureBytes: number
  /** How many of the first bytes are kept for `describe`. */
  readonly headBytes?: number
  readonly openReader: (mediaType: string) => Reader
  readonly describe: (mediaType: string, reader: Reader, head: Buffer) => Omit<Inspected<Facts>, 'mediaType'>
  /** What to do about content that is something else. */
  readonly hint?: string
}

/** Enough for three packets of a transport stream: what is still unknown then stays so. */
const longSignatureBytes = 512

export function mediaKind<Facts, Reader extends ContainerReader>(
  parts: KindParts<Facts, Reader>,
): MediaKind<Facts> {
  return { noun: parts.noun, createInspector: () => createInspector(parts) }
}

function createInspector<Facts, Reader extends ContainerReader>({
  noun,
  signatureBytes,
  headBytes = longSignatureBytes,
  openReader,
  describe,
  hint,
}: KindParts<Facts, Reader>): MediaInspector<Facts> {
  const head = Buffer.allocUnsafe(headBytes)
  let headLength = 0
  let known: { readonly mediaType: string; readonly reader: Reader } | undefined

  /** @param isAll no more bytes will come */
  function identify(isAll: boolean): typeof known {
    const start = head.subarray(0, headLength)
    if (start.length < signatureBytes && !isAll) return undefined
    const sniffed = sniffMediaType(start)
    if (sniffed === undefined && start.length < longSignatureBytes && !isAll) return undefined
    const mayBeMedia =
      sniffed === undefined
        ? start.length >= signatureBytes && !looksLikeText(start)
        : sniffed.startsWith(`${noun}/`)
    if (!mayBeMedia) throw notMedia(noun, start, hint)
    const mediaType = sniffed ?? 'application/octet-stream'
    const reader = openReader(mediaType)
    reader.add(start)
    return { mediaType, reader }
  }
  return {
    add(bytes) {
      const kept = bytes.subarray(0, head.length - headLength)
      // A copy, because whoever gives the bytes may use their memory again.
      head.set(kept, headLength)
      headLength += kept.length
      if (known !== undefined) known.reader.add(bytes)
      else {
        known = identify(false)
        known?.reader.add(bytes.subarray(kept.length))
      }
      return known?.mediaType
    },
    inspect() {
      if (headLength === 0) {
        throw new ContractError(`empty_${noun}`, `The gateway sent an empty ${noun}.`)
      }
      const { mediaType, reader } = known ?? identify(true)!
      return { mediaType, ...describe(mediaType, reader, head.subarray(0, headLength)) }
    },
  }
}

function notMedia(noun: 'image' | 'video', start: Buffer, hint: string | undefined): ContractError {
  const article = withArticle(noun)
  return new ContractError(
    `not_${article.replace(' ', '_')}`,
    `The gateway sent ${describeContent(start)} instead of ${article}.`,
    hint === undefined ? {} : { hint },
  )
}

function withArticle(noun: 'image' | 'video'): string {
  return noun === 'image' ? 'an image' : 'a video'
}
