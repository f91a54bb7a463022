import { maxPartialImages } from '../../contract/images.ts'
import { ContractError, ModelgateError } from '../../errors.ts'
import { countOf, numberOf, objectOf, stringOf, type JsonObject } from '../../json.ts'
import { parseMessage, positionOf } from '../events/json-reader.ts'
import { readErrorValue, replyError } from '../reply-errors.ts'
import { createImageAssembler, kindOf, type MessageKind } from './assembler.ts'
import type { DocumentHandlers } from './document-scanner.ts'
import type { FailedImage, ImageReceiver, ImageStart, ReceivedImage } from './image-receiver.ts'

/** Collects the images of a reply, and what else its messages say. */
export interface ImageCollector extends DocumentHandlers {
  readonly images: readonly ReceivedImage[]
  /** The messages that completed images, or reported that there are none. */
  readonly results: readonly unknown[]
  /** How many messages of any kind have come whole. */
  readonly messages: number
  readonly usage: unknown
  readonly created: number | null
  /** Why images are missing, in the order of the reply. */
  readonly failures: readonly FailedImage[]
  /** Whether nothing more is expected: all requested images have come, or a list of images. */
  readonly complete: boolean
  /** The reply broke off: what has come of an image is not whole. @returns the error, with where that is kept */
  keepDamaged(error: unknown): Promise<unknown>
  /** Gives up what has not been completed. */
  drop(): Promise<void>
}

/** @param eventName the name of the event that is being read */
export function createImageCollector(receiver: ImageReceiver, eventName: () => string): ImageCollector {
  const images: ReceivedImage[] = []
  const results: unknown[] = []
  /** How many partial images have come, by image. */
  const partials = new Map<number, number>()
  let messages = 0
  let usage: unknown = null
  let created: number | null = null
  const failures: FailedImage[] = []
  /** The index of the first image of the current message. */
  let base = 0
  let isList = false
  const isComplete = () => isList || images.length >= (receiver.count ?? Infinity)

  const startOf = (position: number, kind: MessageKind, head: JsonObject): ImageStart => {
    if (kind !== 'partial') return { index: positionOf(base + position), partial: null }
    // A partial image may come after the image itself (specification, `partial_images`).
    const index = positionOf(Math.min(base, (receiver.count ?? Infinity) - 1))
    const partial = partials.get(index) ?? 0
    partials.set(index, partial + 1)
    return { index, partial: partialIndex(head) ?? partial }
  }

  const assembler = createImageAssembler({
    open: (position, kind, head) => receiver.open(startOf(position, kind, head)),
    eventName,
  })

  const collect = async (
    item: JsonObject,
    index: number,
    received: ReceivedImage['source'] | ModelgateError | undefined,
  ) => {
    positionOf(index)
    if (received instanceof ModelgateError) {
      failures.push({ index, error: received })
      return
    }
    const revisedPrompt = stringOf(item['revised_prompt']) ?? null
    const url = stringOf(item['url'])?.trim()
    if (received === undefined && !url) {
      failures.push({ index, error: item['error'] ? replyError(item) : noImage() })
      return
    }
    if (received === undefined) await receiver.url({ index, url: url! })
    const image: ReceivedImage = { index, revised_prompt: revisedPrompt, source: received ?? 'url' }
    images.push(image)
    if (received !== undefined) await receiver.received?.(image)
  }

  return {
    image: (field, head) => assembler.begin(field, head),
    async document(text) {
      messages++
      const message = objectOf(parseMessage(text, Infinity))
      const kind = kindOf(message, eventName())
      const outcomes = await assembler.settle(kind)
      // What comes after the end does not matter (fault E13).
      if (isError(message, kind) && !isComplete()) throw replyError(message)
      usage = message['usage'] ?? usage
      created = numberOf(message['created']) ?? numberOf(message['created_at']) ?? created
      const items =
        kind === 'partial' || kind === 'error' ? undefined : itemsOf(message, kind, outcomes.size > 0)
      if (items === undefined) return
      // One message without images is enough.
      if (items.length > 0 || results.length === 0) results.push(message)
      for (const [position, item] of items.entries()) {
        await collect(item, base + position, outcomes.get(position))
      }
      base += items.length
      isList ||= Array.isArray(message['data'])
    },
    keepDamaged: (error) => assembler.keepDamaged(error),
    drop: () => assembler.drop(),
    images,
    failures,
    results,
    get messages() {
      return messages
    },
    get usage() {
      return usage
    },
    get created() {
      return created
    },
    get complete() {
      return isComplete()
    },
  }
}

/** The index that a partial image gives itself, if it is possible. */
function partialIndex(head: JsonObject): number | undefined {
  const index = countOf(head['partial_image_index'])
  return index !== null && index < maxPartialImages ? index : undefined
}

function noImage(): ContractError {
  return new ContractError('no_image', 'The reply contains an image without base64 or a URL.', {
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

/**
 * The images of a message that is not a partial one, as objects; undefined when it is about something else.
 * @param hasImage whether one has been taken out of it
 */
function itemsOf(
  message: JsonObject,
  kind: MessageKind,
  hasImage: boolean,
): readonly JsonObject[] | undefined {
  const { data, url } = message
  if (Array.isArray(data)) return data.map(objectOf)
  if (kind === 'final' || hasImage || typeof url === 'string') return [message]
  // A result without images is one, too.
  return 'created' in message || data === null ? [] : undefined
}
