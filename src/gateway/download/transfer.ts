import { ContractError, ModelgateError } from '../../errors.ts'
import { crc32 } from 'node:zlib'
import { endsEarly, short, unknownEnd, type Integrity } from '../../files/byte-steps.ts'
import { damagedMedia, type MediaFile } from '../../files/media-file.ts'
import type { Reply, ReplyHeaders } from '../exchange.ts'

/** The server sent a different range than requested. */
export class RangeMismatch extends Error {
  override readonly name = 'RangeMismatch'
}

/** The reply ended normally, but without the content or with only a part of it. */
export class NotWhole extends Error {
  override readonly name = 'NotWhole'
  /** The error to report if that does not change. */
  readonly error: ModelgateError
  /** Whether another attempt is pointless. */
  readonly isSettled: boolean

  constructor(error: ModelgateError, isSettled = false) {
    super(error.message)
    this.error = error
    this.isSettled = isSettled
  }
}

/** The content differs from what was received before. */
export class ContentChanged extends Error {
  override readonly name = 'ContentChanged'
}

const laterHint = { phase: 'result', billed: 'no', hint: 'Run it again later.' } as const

/** @param damage what is missing, as a clause */
function downloadCut(damage: string): ModelgateError {
  const message = `The connection was closed before the download was complete: ${damage}.`
  return new ModelgateError('later', 'download_cut', message, laterHint)
}

export function contentChanged(): ModelgateError {
  const message = 'The content at the URL changed during the download.'
  return new ModelgateError('later', 'download_changed', message, { ...laterHint, hint: 'Run it again.' })
}

export function wrongRange(): ModelgateError {
  const message = 'The server sent a different range of the content than was requested.'
  return new ModelgateError('later', 'wrong_range', message, laterHint)
}

function tooLarge(maxBytes: number): ContractError {
  const message = `The content at the URL is larger than ${maxBytes} bytes.`
  return new ContractError('download_too_large', message, { billed: 'no' })
}

function empty(): ContractError {
  return new ContractError('empty_download', 'The content at the URL is empty.', { billed: 'no' })
}

/** Where a download goes; what cannot be checked or begun anew leaves out the rest. */
export type DownloadSink = Pick<MediaFile<unknown>, 'write'> &
  Partial<Pick<MediaFile<unknown>, 'noun' | 'integrity' | 'restart'>>

interface TransferOptions {
  readonly sink: DownloadSink
  readonly maxBytes: number
  readonly onProgress?: ((progress: Progress) => void) | undefined
  readonly inspect?: ((body: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>) | undefined
}

/** The progress of a download, in bytes. */
export interface Progress {
  readonly received: number
  /** Null if unknown. */
  readonly total: number | null
}

/** A download into a sink, which may take several replies: what comes a second time is compared, not written. */
export function createTransfer({ sink, maxBytes, onProgress, inspect = (body) => body }: TransferOptions) {
  let received = 0
  let checksum = 0
  let contentType = ''
  let etag: string | undefined
  /** The length of the whole content, once it is known. */
  let whole: number | null = null
  let isFramed = true
  /** How many bytes the last complete reply has added. */
  let added = 0

  /** A part of the content, from where it begins to its end. */
  const open = (start: number, total: number | null) => {
    let again = received - start
    let againChecksum = 0
    return {
      async add(chunk: Uint8Array) {
        const known = Math.min(again, chunk.length)
        if (known > 0) {
          againChecksum = crc32(chunk.subarray(0, known), againChecksum)
          again -= known
          if (again === 0 && againChecksum !== checksum) throw new ContentChanged()
        }
        const fresh = known === 0 ? chunk : chunk.subarray(known)
        if (fresh.length === 0) return
        received += fresh.length
        if (received > maxBytes) throw tooLarge(maxBytes)
        checksum = crc32(fresh, checksum)
        await sink.write(fresh)
        onProgress?.({ received, total })
      },
      end() {
        // A body that ends with the connection may have been cut, and earlier than the one before.
        if (again > 0)
          throw isFramed ? new ContentChanged() : new NotWhole(downloadCut('it was shorter than before'))
        if (received === 0) throw isFramed ? empty() : new NotWhole(downloadCut('no data arrived'))
      },
    }
  }
  const isOther = (headers: ReplyHeaders, { total }: ByteRange) =>
    (headers['etag'] ?? etag) !== etag || (total ?? whole) !== (whole ?? total)
  return {
    get received() {
      return received
    },
    get contentType() {
      return contentType
    },
    /** Whether the transport said where the content ends: a body that ends with the connection may have been cut anywhere. */
    get isFramed() {
      return isFramed
    },
    /** Headers of the next request, for what is still missing. */
    headers: (): Record<string, string> =>
      received > 0 && etag !== undefined ? { range: `bytes=${received}-`, 'if-range': etag } : {},
    /**
     * Writes what a reply adds.
     * @returns whether that was the last of it: a server may send less than the rest that was requested
     * @throws ExchangeError when it breaks off; ContractError when it is too large or empty;
     *   ContentChanged when it differs from what has come before
     */
    async take(reply: Reply): Promise<boolean> {
      try {
        const { headers, status } = reply
        const range = status === 206 ? rangeOf(headers) : undefined
        const isFirst = received === 0
        const isFit = range === undefined || range.start === 0 || range.start === received
        if (!isFit || (range !== undefined && !isFirst && isOther(headers, range))) throw new RangeMismatch()
        const start = range?.start ?? 0
        const total = range === undefined ? lengthOf(headers) : range.total
        if ((total ?? 0) > maxBytes) throw tooLarge(maxBytes)
        if (range === undefined || isFirst) {
          contentType = headers['content-type'] ?? ''
          etag = strongTag(headers)
          whole = total
        }
        // A range that was not requested and does not name the whole length may not be the whole.
        isFramed = isDelimited(headers) && (range === undefined || range.total !== null)
        const before = received
        const part = open(start, total)
        for await (const chunk of start === 0 ? inspect(reply.body) : reply.body) await part.add(chunk)
        part.end()
        added = received - before
        if (range === undefined || total === null || received >= total) return true
        if (received === start || etag === undefined) throw new RangeMismatch()
        return false
      } finally {
        reply.close()
      }
    },
    /** Checks the received content, as far as its container allows. @throws NotWhole */
    check() {
      const { state, damage } = judge(sink, isFramed, received)
      if (damage === undefined) return
      const isCut = state === 'short' && !isFramed
      // The same content again: another attempt is pointless.
      const isSettled = isFramed && added === 0
      const error = isCut ? downloadCut(damage) : damagedMedia(sink.noun ?? 'image', damage, undefined)
      throw new NotWhole(error, isSettled)
    },
    /** Takes content that needs no request, from its beginning; a second time it is compared. */
    takeAll() {
      isFramed = true
      return open(0, null)
    },
    /** The next request asks for everything; the received part is compared. */
    restart() {
      etag = undefined
    },
    /** Discards what has been received. @returns whether the sink supports that */
    async forget() {
      if (sink.restart === undefined) return false
      await sink.restart()
      received = 0
      checksum = 0
      etag = undefined
      whole = null
      return true
    },
  }
}

export type Transfer = ReturnType<typeof createTransfer>

/** Fewer bytes than this do not always show what kind of content they begin. */
const headBytes = 64

function judge(sink: DownloadSink, isFramed: boolean, received: number): Integrity {
  try {
    return sink.integrity?.() ?? unknownEnd
  } catch (error) {
    if (isFramed || received >= headBytes || !(error instanceof ContractError)) throw error
    return short(endsEarly)
  }
}

function isDelimited(headers: ReplyHeaders): boolean {
  return 'content-length' in headers || /chunked/i.test(headers['transfer-encoding'] ?? '')
}

/** A weak tag does not say that the bytes are the same. */
function strongTag(headers: ReplyHeaders): string | undefined {
  const tag: string | undefined = headers['etag']
  return tag !== undefined && /^"[\x21\x23-\x7e]*"$/.test(tag) ? tag : undefined
}

interface ByteRange {
  readonly start: number
  /** The length of the whole content; null if the server does not know it. */
  readonly total: number | null
}

function rangeOf(headers: ReplyHeaders): ByteRange {
  const [, start, total] = /^bytes (\d+)-\d+\/(\d+|\*)/.exec(headers['content-range'] ?? '') ?? []
  return { start: start === undefined ? -1 : Number(start), total: total === '*' ? null : Number(total) }
}

function lengthOf(headers: ReplyHeaders): number | null {
  const length = Number(headers['content-length'] ?? Number.NaN)
  return Number.isSafeInteger(length) ? length : null
}
