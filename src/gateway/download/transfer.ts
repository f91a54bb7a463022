import { ContractError, ModelgateError } from '../../errors.ts'
import { endsEarly, short, unknownEnd, type Integrity } from '../../files/containers.ts'
import { damagedMedia, type MediaFile } from '../../files/media-file.ts'
import { createMediaDecoder } from '../base64.ts'
import { isBlank } from '../reply-body.ts'
import type { Reply, ReplyHeaders } from '../exchange.ts'
import { Failure } from '../retry.ts'

/** Where a download goes; what cannot be checked leaves out the rest. */
export type DownloadSink = Pick<MediaFile<unknown>, 'write' | 'restart'> &
  Partial<Pick<MediaFile<unknown>, 'noun' | 'integrity'>>

export interface TransferOptions {
  readonly sink: DownloadSink
  readonly maxBytes: number
  /** Called after every write. */
  readonly onProgress?: ((progress: Progress) => void) | undefined
  /** The error for content that is JSON or HTML, for media that never begin so. @param text its beginning */
  readonly textError?: ((text: string) => ContractError) | undefined
}

/** The progress of a download, in bytes; the total is null while it is unknown. */
export interface Progress {
  readonly received: number
  readonly total: number | null
}

/** Base64 is decoded in pieces of this many characters. */
const sliceLength = 1_048_576

/** A download into a sink. It may take several replies, each of which begins it again. */
export class Transfer {
  /** Whether the transport said where the content ends: a body that ends with the connection may have been cut anywhere. */
  isFramed = true
  readonly #options: TransferOptions
  #received = 0
  #total: number | null = null

  constructor(options: TransferOptions) {
    this.#options = options
  }

  /**
   * Writes the content of a reply.
   * @throws ExchangeError when it breaks off; ContractError when it is too large, empty or a text; Failure
   */
  async take({ headers, body, close }: Reply): Promise<void> {
    const { maxBytes, textError } = this.#options
    try {
      const total = lengthOf(headers)
      if ((total ?? 0) > maxBytes) throw tooLarge(maxBytes)
      await this.#begin(isDelimited(headers), total)
      for await (const chunk of body) {
        if (textError !== undefined && this.#received === 0 && beginsText(chunk)) {
          throw textError(await readText(chunk, body))
        }
        await this.#add(chunk)
      }
      const damage = this.#end()
      if (damage !== undefined) throw new Failure(damage, true)
    } finally {
      close()
    }
  }

  /** Writes content that came as base64, or in a data URL. @throws ContractError */
  async takeText(text: string): Promise<void> {
    await this.#begin(true, null)
    const decoder = createMediaDecoder((bytes) => this.#add(bytes))
    for (let at = 0; at < text.length; at += sliceLength) {
      await decoder.push(Buffer.from(text.slice(at, at + sliceLength)))
    }
    await decoder.end()
    const damage = this.#end()
    if (damage !== undefined) throw damage
  }

  /** Begins with the first byte; what has come before is forgotten. */
  async #begin(isFramed: boolean, total: number | null): Promise<void> {
    if (this.#received > 0) await this.#options.sink.restart()
    this.isFramed = isFramed
    this.#total = total
    this.#received = 0
  }

  async #add(chunk: Uint8Array): Promise<void> {
    const { sink, maxBytes, onProgress } = this.#options
    this.#received += chunk.length
    if (this.#received > maxBytes) throw tooLarge(maxBytes)
    await sink.write(chunk)
    onProgress?.({ received: this.#received, total: this.#total })
  }

  /** Checks the content, as far as its container allows. @returns why it is not whole. @throws ContractError when it is empty */
  #end(): ModelgateError | undefined {
    const { sink } = this.#options
    if (this.#received === 0) {
      if (this.isFramed) throw empty()
      return downloadCut('no data arrived')
    }
    const { state, damage } = judge(sink, this.isFramed, this.#received)
    if (damage === undefined) return undefined
    const isCut = state === 'short' && !this.isFramed
    return isCut ? downloadCut(damage) : damagedMedia(sink.noun ?? 'image', damage, undefined)
  }
}

/** @param damage what is missing, as a clause */
function downloadCut(damage: string): ModelgateError {
  const message = `The connection was closed before the download was complete: ${damage}.`
  const facts = { phase: 'result', billed: 'no', hint: 'Run it again later.' } as const
  return new ModelgateError('later', 'connection_lost', message, facts)
}

function tooLarge(maxBytes: number): ContractError {
  const message = `The content at the URL is larger than ${maxBytes} bytes.`
  return new ContractError('reply_too_large', message, { billed: 'no' })
}

function empty(): ContractError {
  return new ContractError('damaged_media', 'The content at the URL is empty.', { billed: 'no' })
}

/** Whether content begins as JSON or HTML. */
function beginsText(chunk: Uint8Array): boolean {
  const first = chunk.find((byte) => !isBlank(byte))
  return first !== undefined && '{[<'.includes(String.fromCharCode(first))
}

/** Characters of a text that are read for its message. */
const maxTextLength = 65_536

async function readText(beginning: Uint8Array, rest: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  let text = decoder.decode(beginning, { stream: true })
  if (text.length > maxTextLength) return text
  for await (const chunk of rest) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > maxTextLength) break
  }
  return text
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

function lengthOf(headers: ReplyHeaders): number | null {
  const length = Number(headers['content-length'] ?? Number.NaN)
  return Number.isSafeInteger(length) ? length : null
}
