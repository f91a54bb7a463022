import { randomUUID } from 'node:crypto'
import { maxPartialImages } from '../../contract/images.ts'
import { ContractError, GenerationError, ModelgateError } from '../../errors.ts'
import { keepDamaged, type MediaWriter } from '../../files/media-file.ts'
import {
  countOf,
  isDeeperThan,
  isObject,
  listOf,
  maxJsonDepth,
  objectOf,
  objectsOf,
  stringOf,
  tryJson,
  type JsonObject,
} from '../../json.ts'
import { createMediaDecoder } from '../base64.ts'
import { closeJson, createMessageReader, isErrorEvent, positionOf } from '../message-reader.ts'
import { readErrorValue, truncated } from '../reply-errors.ts'
import { ExchangeError } from '../exchange-error.ts'
import type { Gateway, GatewayRequest } from '../gateway.ts'
import { brokenError, replyError } from '../gateway-errors.ts'
import { createMediaFilter, type MediaSink } from '../media-filter.ts'
import { readBody, sendRequest } from '../send-request.ts'

export type ImageWriter = MediaWriter<void>

export interface ImageStart {
  /** Among the images of the reply, from 0. */
  readonly index: number
  /** From 0; null for the image itself. */
  readonly partial: number | null
}

export interface ImageReceiver {
  /** How many were requested: the reply ends as soon as they are there. */
  readonly count?: number
  /** Gets each chunk; the reply waits for it, and is read whole before an error in it is thrown. */
  pass?(chunk: Uint8Array): Promise<void>
  open(image: ImageStart): Promise<ImageWriter>
  /** The reply waits for it after each chunk. */
  flush?(): Promise<void>
  /** Called when an image is complete, or after `url`. */
  received?(image: ReceivedImage): Promise<void>
  /** The URL may be relative to the base URL. */
  url(item: { readonly index: number; readonly url: string }): Promise<void> | void
  /** An image is broken or missing while others came. Without it the first failure is thrown. */
  failed?(item: FailedImage): void
  /** Of each message that has one, also of a reply that breaks off afterwards. */
  usage?(usage: unknown): void
  replied?(requestId: string | null): void
}

export interface FailedImage {
  readonly index: number
  readonly error: ModelgateError
}

export interface ReceivedImage {
  readonly index: number
  readonly revised_prompt: string | null
}

/** More data may follow (fault E11). */
const graceMs = 1_000

/**
 * Passes on images while they arrive: nothing but one block of one image is in memory, whatever the size of the reply.
 * @returns the gateway's object with `null` in place of base64; of a stream the events that completed images
 * @throws ModelgateError when the reply is not whole, is an error, or lacks an image that it promises
 */
export async function receiveImages(
  gateway: Gateway,
  request: GatewayRequest,
  receiver: ImageReceiver,
): Promise<unknown> {
  const reply = await sendRequest(gateway, request)
  receiver.replied?.(reply.requestId)
  const album = new ImageReply(receiver)
  const { pass } = receiver
  const body = readBody(gateway, reply, {
    ...(pass === undefined && {
      progress: () => ({ messages: album.reader.messages, bytes: album.imageBytes + album.reader.pending }),
      graceMs: () => (album.complete ? graceMs : undefined),
    }),
  })
  /** Why the rest is not read, but only passed on. */
  let unreadable: unknown
  try {
    for await (const chunk of body) {
      await pass?.(chunk)
      if (unreadable !== undefined) continue
      try {
        await album.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))
      } catch (error) {
        if (pass === undefined) throw error
        unreadable = error
      }
      await receiver.flush?.()
      if (album.reader.done && pass === undefined) break
    }
    if (unreadable !== undefined) throw unreadable
    if (!album.complete) await album.end()
  } catch (error) {
    // What is passed on is to be whole.
    const isCut = pass !== undefined && error instanceof ExchangeError
    if (isCut || !album.complete || !breaksNothing(error)) {
      const failure = error instanceof ExchangeError ? brokenError(error, request.kind) : error
      throw gateway.signal.aborted ? failure : await album.keepDamaged(failure)
    }
  } finally {
    await album.discard()
    await receiver.flush?.()
  }
  const { images, failures, results } = album
  const isPartial = images.length > 0 && receiver.failed !== undefined
  if (failures[0] !== undefined && !isPartial) throw failures[0].error
  const verdict = missing(album, reply.headers['content-type'])
  if (verdict !== undefined) throw verdict
  for (const failure of failures) receiver.failed?.(failure)
  return results.length === 1 ? results[0] : results
}

export const discarding: ImageWriter = {
  write: async () => {},
  commit: async () => {},
  commitDamaged: async () => undefined,
  discard: async () => {},
}

/** A connection that breaks after the end has arrived (fault E12), or what cannot be read after it (fault E13). */
function breaksNothing(error: unknown): boolean {
  return error instanceof ExchangeError || error instanceof ContractError || error instanceof GenerationError
}

function missing(
  { images, results, reader: { done, isEventStream, messages } }: ImageReply,
  contentType = '',
): ModelgateError | undefined {
  if (images.length > 0) return undefined
  if (results.length > 0 || done) {
    return new GenerationError('nothing_generated', 'The gateway answered without an image.', {
      hint: 'Change the prompt; see the reply with --raw.',
    })
  }
  if (isEventStream && (messages > 0 || contentType.includes('event-stream'))) {
    return truncated('The stream ended before the image was complete.')
  }
  return new ContractError('reply_not_understood', 'The reply contains no image.', {
    hint: 'See it with --raw.',
  })
}

/** Of a message without its images. */
const maxMessageCharacters = 32 * 1024 ** 2
/** Read to place the images of a message: more than four million characters for each of 16. */
const maxPlacingCharacters = 64 * 1024 ** 2

type MessageKind = 'partial' | 'final' | 'error' | 'unknown'

/**
 * Writes images while they arrive. One that is broken or cannot be written is given up, and the others continue: they have been
 * paid for, too. Whatever else goes wrong ends everything.
 */
export class ImageReply {
  readonly images: ReceivedImage[] = []
  /** The messages that completed images, or reported that there are none, with `null` in place of base64. */
  readonly results: unknown[] = []
  readonly failures: FailedImage[] = []
  imageBytes = 0
  readonly reader = createMessageReader(
    { onMessage: (value, _, name = '') => void this.#waiting.push({ value, name }) },
    maxMessageCharacters,
  )

  readonly #receiver: ImageReceiver
  /** In place of an image, in the text of its message. */
  readonly #mark = randomUUID()
  readonly #filter = createMediaFilter(
    Buffer.from(this.#mark),
    (bytes) => this.#read(() => this.reader.push(bytes)),
    () => this.#openImage(),
  )
  /** Messages that have been parsed and not read. */
  #waiting: { readonly value: unknown; readonly name: string }[] = []
  /** How many have come of each image. */
  readonly #partials = new Map<number, number>()
  /** Of the current message: the index of its first image. */
  #base = 0
  #isList = false
  /** Of the images of the current message, by position. */
  #outcomes = new Map<number, 'whole' | ModelgateError>()
  #placingCharacters = 0
  #current: { flush(): Promise<void>; writer(): ImageWriter | undefined } | undefined

  constructor(receiver: ImageReceiver) {
    this.#receiver = receiver
  }

  /** @throws ModelgateError for what cannot be read or is an error; whatever the receiver throws */
  push(bytes: Buffer): Promise<void> {
    return this.#filter.push(bytes)
  }

  /** @throws ModelgateError `connection_lost` inside a message */
  async end(): Promise<void> {
    await this.#filter.end()
    await this.#read(() => this.reader.end())
  }

  /** What may still follow is not waited for long. */
  get complete(): boolean {
    return this.reader.done || this.#isList || this.images.length >= (this.#receiver.count ?? Infinity)
  }

  /** The reply broke off inside an image. @returns the error, with where that is kept */
  async keepDamaged(error: unknown): Promise<unknown> {
    await this.#current?.flush()
    const writer = this.#current?.writer()
    return writer === undefined ? error : await keepDamaged(writer, error)
  }

  async discard(): Promise<void> {
    await this.#current?.writer()?.discard()
  }

  /** Reads what messages there are after a step, also after one that fails. */
  async #read(step: () => void): Promise<void> {
    try {
      step()
    } finally {
      for (const { value, name } of this.#waiting.splice(0)) await this.#readMessage(value, name)
    }
  }

  async #readMessage(value: unknown, name: string): Promise<void> {
    this.#placingCharacters = 0
    if (isDeeperThan(value, maxJsonDepth)) {
      throw new ContractError('reply_too_large', `The reply is nested more than ${maxJsonDepth} levels deep.`)
    }
    // The array form may come as one message.
    for (const message of Array.isArray(value) ? objectsOf(value) : [objectOf(value)]) {
      await this.#readObject(message, name)
    }
  }

  async #readObject(message: JsonObject, name: string): Promise<void> {
    const kind = kindOf(message, name)
    const outcomes = await this.#settle(message, kind)
    // What comes after the end does not matter (fault E13).
    if (isError(message, kind) && !this.complete) throw replyError(message)
    if (isObject(message['usage'])) this.#receiver.usage?.(message['usage'])
    const isResult = kind !== 'partial' && kind !== 'error'
    const items = isResult ? itemsOf(message, kind, outcomes.size > 0) : undefined
    if (items === undefined) return
    // One message without images is enough.
    if (items.length > 0 || this.results.length === 0) this.results.push(message)
    for (const [position, item] of items.entries()) {
      await this.#collect(item, this.#base + position, outcomes.get(position))
    }
    this.#base += items.length
    this.#isList ||= Array.isArray(message['data'])
  }

  async #collect(item: JsonObject, index: number, outcome: 'whole' | ModelgateError | undefined) {
    positionOf(index)
    if (outcome instanceof ModelgateError) return void this.failures.push({ index, error: outcome })
    const url = stringOf(item['url'])?.trim()
    if (outcome === undefined && !url) {
      return void this.failures.push({ index, error: item['error'] ? replyError(item) : noImage() })
    }
    if (outcome === undefined) await this.#receiver.url({ index, url: url! })
    const image: ReceivedImage = { index, revised_prompt: stringOf(item['revised_prompt']) ?? null }
    this.images.push(image)
    await this.#receiver.received?.(image)
  }

  /** A string begins. @returns where it goes when it is an image, by its place in the message */
  #openImage(): MediaSink | undefined {
    if (this.reader.done) return undefined
    const { text, name = '' } = this.reader.unfinished()
    this.#placingCharacters += text.length
    if (this.#placingCharacters > maxPlacingCharacters) return undefined
    const here = `${this.#mark} begins`
    const head = tryJson(closeJson(`${text}${here}"`))
    const message = objectOf(Array.isArray(head) && head.length === 1 ? head[0] : head)
    const isHere = (value: JsonObject) => value['b64_json'] === here || value['url'] === here
    const data = listOf(message['data'])
    if (isHere(objectOf(data.at(-1)))) return this.#begin(data.length - 1, 'final', {})
    const kind = kindOf(message, name)
    // Whether it is only a partial image may be said after it.
    return isHere(message) && kind !== 'unknown' ? this.#begin(0, kind, message) : undefined
  }

  /** @param message what is known of it */
  #begin(position: number, kind: MessageKind, message: JsonObject): MediaSink {
    // Of `b64_json` and `url`, and of a field that is named twice, the first that holds an image counts.
    if (this.#outcomes.get(position) === 'whole') return ignored
    let writer: ImageWriter | undefined
    let isBroken = false
    const decoder = createMediaDecoder(async (bytes) => {
      writer ??= await this.#receiver.open(this.#startOf(position, kind, message))
      await writer.write(bytes)
    })
    const next = async (step: () => Promise<unknown>) => {
      if (isBroken) return
      await step().catch(async (error: unknown) => {
        // It is broken, or cannot be written.
        if (!(error instanceof ModelgateError) || !['contract', 'io'].includes(error.exit)) throw error
        isBroken = true
        const kept = writer === undefined ? error : await keepDamaged(writer, error)
        this.#outcomes.set(position, kept as ModelgateError)
      })
    }
    this.#current = { flush: decoder.flush, writer: () => writer }
    return {
      push: (text) => {
        this.imageBytes += text.length
        return next(() => decoder.push(text))
      },
      end: async () => {
        await next(async () => {
          await decoder.end()
          await writer?.commit()
          if (writer !== undefined) this.#outcomes.set(position, 'whole')
        })
        this.#current = undefined
      },
    }
  }

  #startOf(position: number, kind: MessageKind, message: JsonObject): ImageStart {
    if (kind !== 'partial') return { index: positionOf(this.#base + position), partial: null }
    // A partial image may come after the image itself (specification, `partial_images`).
    const index = positionOf(Math.min(this.#base, (this.#receiver.count ?? Infinity) - 1))
    const partial = this.#partials.get(index) ?? 0
    this.#partials.set(index, partial + 1)
    const own = countOf(message['partial_image_index'])
    return { index, partial: own !== null && own < maxPartialImages ? own : partial }
  }

  /** A message has come whole. @returns what has become of its images, by position */
  async #settle(
    message: JsonObject,
    kind: MessageKind,
  ): Promise<ReadonlyMap<number, 'whole' | ModelgateError>> {
    const { data } = message
    const items = kind === 'error' ? [] : Array.isArray(data) ? data : [message]
    for (const [position, item] of items.entries())
      await this.#takeOut(objectOf(item), position, kind, message)
    const outcomes = this.#outcomes
    this.#outcomes = new Map()
    return outcomes
  }

  /** Puts `null` in place of images, and writes those that were not recognised while they arrived. */
  async #takeOut(item: Record<string, unknown>, position: number, kind: MessageKind, message: JsonObject) {
    for (const field of ['b64_json', 'url']) {
      const text = item[field]
      if (typeof text !== 'string' || text === '') continue
      if (text !== this.#mark) {
        if (field === 'url' && !/^data:/i.test(text)) continue
        const sink = this.#begin(position, kind, message)
        await sink.push(Buffer.from(text))
        await sink.end()
      }
      item[field] = null
    }
  }
}

const ignored: MediaSink = { push: async () => {}, end: async () => {} }

function noImage(): ContractError {
  return new ContractError('reply_not_understood', 'The reply contains an image without base64 or a URL.', {
    hint: 'See the reply with --raw.',
  })
}

/** Whether a message reports an error in spite of its HTTP status (quirks 10 and 17). */
function isError(message: JsonObject, kind: MessageKind): boolean {
  if (kind === 'error' || Boolean(message['error'])) return true
  const { type, data, b64_json: base64, url } = message
  const isEmpty = [type, data, base64, url].every((value) => value === undefined || value === null)
  return isEmpty && readErrorValue(message).message !== undefined
}

/** Undefined for a message about something else. @param hasImage whether one has been taken out of it */
function itemsOf(
  message: JsonObject,
  kind: MessageKind,
  hasImage: boolean,
): readonly JsonObject[] | undefined {
  const { data, url } = message
  if (Array.isArray(data)) return data.map(objectOf)
  if (kind === 'final' || hasImage || typeof url === 'string') return [message]
  // A result without images is also a result.
  return 'created' in message || data === null ? [] : undefined
}

/** From the `type`, or the name of the event: `image_edit.completed`, `upstream_error` (wire notes, section 4; quirk 17). */
function kindOf(message: JsonObject, eventName: string): MessageKind {
  if (isErrorEvent(eventName)) return 'error'
  const type = stringOf(message['type']) ?? eventName
  if (/partial/i.test(type)) return 'partial'
  if (/(?:^|[._])(?:error|failed)$/i.test(type)) return 'error'
  return /completed$/i.test(type) ? 'final' : 'unknown'
}
