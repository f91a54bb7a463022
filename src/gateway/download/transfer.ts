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
   * @throws ExchangeError when it breaks off; ContractError when it is too large or empty;
   *   ModelgateError (exit 5) when it is something else than what has come before
   */
  take(reply: Reply): Promise<void>
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
        const start = status === 206 ? rangeStart(headers) : 0
        if (status === 206 && (start !== received || (headers['etag'] ?? etag) !== etag))
          throw new RangeMismatch()
        const total = totalLength(headers, start)
        if ((total ?? 0) > maxBytes) throw downloadTooLarge(maxBytes)
        if (status === 200) {
          contentType = headers['content-type'] ?? ''
          etag = strongTag(headers)
        }
        const part = open(start, total)
        for await (const chunk of start === 0 ? inspect(reply.body) : reply.body) await part.add(chunk)
        part.end()
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

function rangeStart(headers: ReplyHeaders): number {
  const start = /^bytes (\d+)-\d+\//.exec(headers['content-range'] ?? '')?.[1]
  return start === undefined ? -1 : Number(start)
}

/** Of the whole content, of which the reply may be the part from `start`. */
function totalLength(headers: ReplyHeaders, start: number): number | null {
  const length = Number(headers['content-length'] ?? Number.NaN)
  return Number.isSafeInteger(length) ? start + length : null
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
