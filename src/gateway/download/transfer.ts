import { ContractError, ModelgateError } from '../../errors.ts'
import { crc32 } from 'node:zlib'
import { endsEarly, short, unknownEnd, type Integrity } from '../../files/containers.ts'
import { damagedMedia, type MediaFile } from '../../files/media-file.ts'
import type { Reply, ReplyHeaders } from '../exchange.ts'
import { Failure } from '../retry.ts'

const laterFacts = { phase: 'result', billed: 'no', hint: 'Run it again later.' } as const

/** @param damage what is missing, as a clause */
function downloadCut(damage: string): ModelgateError {
  const message = `The connection was closed before the download was complete: ${damage}.`
  return new ModelgateError('later', 'connection_lost', message, laterFacts)
}

function partOnly(): ModelgateError {
  const message = 'The server sent a part of the content (HTTP 206), though all of it was requested.'
  return new ModelgateError('later', 'connection_lost', message, laterFacts)
}

function tooLarge(maxBytes: number): ContractError {
  const message = `The content at the URL is larger than ${maxBytes} bytes.`
  return new ContractError('reply_too_large', message, { billed: 'no' })
}

function empty(): ContractError {
  return new ContractError('damaged_media', 'The content at the URL is empty.', { billed: 'no' })
}

/** Where a download goes; what cannot be checked leaves out the rest. */
export type DownloadSink = Pick<MediaFile<unknown>, 'write' | 'restart'> &
  Partial<Pick<MediaFile<unknown>, 'noun' | 'integrity'>>

export interface TransferOptions {
  readonly sink: DownloadSink
  /** Larger content is rejected. */
  readonly maxBytes: number
  /** Called after every write; `total` is null while it is unknown. */
  readonly onProgress?: ((progress: Progress) => void) | undefined
  /** Passes content on from its beginning, and throws when it is not what was requested. */
  readonly inspect?: ((body: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>) | undefined
}

/** The progress of a download, in bytes. */
export interface Progress {
  readonly received: number
  /** Null if unknown. */
  readonly total: number | null
}

/** A download into a sink. It may take several replies, each of which begins it again. */
export class Transfer {
  /** Bytes of the last reply. */
  received = 0
  /** As declared by the server, or empty. */
  contentType = ''
  /** Whether the transport said where the content ends: a body that ends with the connection may have been cut anywhere. */
  isFramed = true
  readonly #options: TransferOptions
  #total: number | null = null
  #checksum = 0
  /** The checksum of the last content that came whole by the transport. */
  #settled: number | undefined

  constructor(options: TransferOptions) {
    this.#options = options
  }

  /**
   * Writes the content of a reply.
   * @throws ExchangeError when it breaks off; ContractError when it is too large or empty; Failure
   */
  async take({ status, headers, body, close }: Reply): Promise<void> {
    const { maxBytes, inspect } = this.#options
    try {
      if (status === 206 && !isWholeRange(headers)) throw new Failure(partOnly(), true)
      const total = lengthOf(headers)
      if ((total ?? 0) > maxBytes) throw tooLarge(maxBytes)
      this.contentType = headers['content-type'] ?? ''
      await this.begin(isDelimited(headers), total)
      for await (const chunk of inspect === undefined ? body : inspect(body)) await this.add(chunk)
      this.end()
    } finally {
      close()
    }
  }

  /** Begins with the first byte; what has come before is forgotten. */
  async begin(isFramed = true, total: number | null = null): Promise<void> {
    if (this.received > 0) await this.#options.sink.restart()
    this.isFramed = isFramed
    this.#total = total
    this.received = this.#checksum = 0
  }

  async add(chunk: Uint8Array): Promise<void> {
    const { sink, maxBytes, onProgress } = this.#options
    this.received += chunk.length
    if (this.received > maxBytes) throw tooLarge(maxBytes)
    this.#checksum = crc32(chunk, this.#checksum)
    await sink.write(chunk)
    onProgress?.({ received: this.received, total: this.#total })
  }

  /** Checks the content, as far as its container allows. @throws ContractError, Failure */
  end(): void {
    const { sink } = this.#options
    if (this.received === 0) throw this.isFramed ? empty() : new Failure(downloadCut('no data arrived'), true)
    const { state, damage } = judge(sink, this.isFramed, this.received)
    if (damage === undefined) return
    const isCut = state === 'short' && !this.isFramed
    // The same content again: another attempt is pointless.
    const isSettled = this.isFramed && this.#checksum === this.#settled
    if (this.isFramed) this.#settled = this.#checksum
    const error = isCut ? downloadCut(damage) : damagedMedia(sink.noun ?? 'image', damage, undefined)
    throw new Failure(error, !isSettled)
  }
}

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

/** Some servers send all of it as a range, which nobody has asked for. */
function isWholeRange(headers: ReplyHeaders): boolean {
  const [, last, total] = /^bytes 0-(\d+)\/(\d+)$/.exec(headers['content-range'] ?? '') ?? []
  return last !== undefined && Number(last) + 1 === Number(total)
}

function lengthOf(headers: ReplyHeaders): number | null {
  const length = Number(headers['content-length'] ?? Number.NaN)
  return Number.isSafeInteger(length) ? length : null
}
