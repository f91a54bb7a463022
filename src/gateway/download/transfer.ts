import { crc32 } from 'node:zlib'
import { ContractError, ModelgateError } from '../../errors.ts'
import type { Reply, ReplyHeaders } from '../exchange.ts'

/** A download that may take several replies. */
export interface Transfer {
  readonly received: number
  readonly contentType: string
  /** What the next request says so that what has come need not come again. */
  headers(): Record<string, string>
  /**
   * Writes what a reply adds.
   * @returns whether that was the last of it: a server may give less than the rest that it was asked for
   * @throws ExchangeError when it breaks off; ContractError when it is too large or empty;
   *   ModelgateError (exit 5) when it is something else than what has come before
   */
  take(reply: Reply): Promise<boolean>
  /** Takes content that is at hand, from its beginning; a second time it is compared, too. */
  takeAll(): TransferPart
  /** The next request asks for everything (faults F15, F16). */
  restart(): void
}

/** A part of the content, from where it begins to its end. */
interface TransferPart {
  add(chunk: Uint8Array): Promise<void>
  end(): void
}

export interface TransferOptions {
  write(bytes: Uint8Array): Promise<void>
  readonly maxBytes: number
  readonly onProgress?: ((progress: Progress) => void) | undefined
  readonly inspect?: ((body: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>) | undefined
}

/** How far a download has come, in bytes. */
export interface Progress {
  readonly received: number
  /** Null when the server does not tell. */
  readonly total: number | null
}

/** A transfer into `write`, which cannot take back anything: what comes a second time is compared, not written. */
export function createTransfer({
  write,
  maxBytes,
  onProgress,
  inspect = (body) => body,
}: TransferOptions): Transfer {
  let received = 0
  let checksum = 0
  let contentType = ''
  let etag: string | undefined
  /** The length of the whole content, as far as it is known. */
  let whole: number | null = null

  const open = (start: number, total: number | null): TransferPart => {
    let again = received - start
    let againChecksum = 0
    return {
      async add(chunk) {
        const known = Math.min(again, chunk.length)
        if (known > 0) {
          againChecksum = crc32(chunk.subarray(0, known), againChecksum)
          again -= known
          if (again === 0 && againChecksum !== checksum) throw changed()
        }
        const added = known === 0 ? chunk : chunk.subarray(known)
        if (added.length === 0) return
        received += added.length
        if (received > maxBytes) throw downloadTooLarge(maxBytes)
        checksum = crc32(added, checksum)
        await write(added)
        onProgress?.({ received, total })
      },
      end() {
        if (again > 0) throw changed()
        if (received === 0) throw emptyDownload()
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
    headers: () =>
      received > 0 && etag !== undefined ? { range: `bytes=${received}-`, 'if-range': etag } : {},
    async take(reply) {
      try {
        const { headers, status } = reply
        const range = status === 206 ? rangeOf(headers) : undefined
        const isFirst = received === 0
        if (range !== undefined && (range.start !== received || (!isFirst && isOther(headers, range))))
          throw new RangeMismatch()
        const start = range?.start ?? 0
        const total = range === undefined ? lengthOf(headers) : range.total
        if ((total ?? 0) > maxBytes) throw downloadTooLarge(maxBytes)
        if (range === undefined || isFirst) {
          contentType = headers['content-type'] ?? ''
          etag = strongTag(headers)
          whole = total
        }
        const part = open(start, total)
        for await (const chunk of start === 0 ? inspect(reply.body) : reply.body) await part.add(chunk)
        part.end()
        if (range === undefined || total === null || received >= total) return true
        if (received === start || etag === undefined) throw new RangeMismatch()
        return false
      } finally {
        reply.close()
      }
    },
    takeAll: () => open(0, null),
    restart() {
      etag = undefined
    },
  }
}

/** A part came that was not asked for. */
export class RangeMismatch extends Error {
  override readonly name = 'RangeMismatch'
}

/** A weak tag does not say that the bytes are the same. */
function strongTag(headers: ReplyHeaders): string | undefined {
  const tag: string | undefined = headers['etag']
  return tag !== undefined && /^"[\x21\x23-\x7e]*"$/.test(tag) ? tag : undefined
}

interface ByteRange {
  readonly start: number
  /** Of the whole content; null when the server does not know. */
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

export function downloadTooLarge(maxBytes: number): ContractError {
  return new ContractError('download_too_large', `The URL serves more than ${maxBytes} bytes.`, {
    billed: 'no',
  })
}

export function emptyDownload(): ContractError {
  return new ContractError('empty_download', 'The URL serves an empty file.', { billed: 'no' })
}

function changed(): ModelgateError {
  return new ModelgateError('later', 'download_changed', 'What the URL serves changed during the download.', {
    phase: 'result',
    billed: 'no',
    hint: 'Run it again.',
  })
}
