import { maxPartialImages } from '../../contract/images.ts'
import { ContractError, ModelgateError } from '../../errors.ts'
import { countOf, objectOf, stringOf, type JsonObject, isObject } from '../../json.ts'
import { parseMessage, positionOf } from '../events/json-reader.ts'
import { readErrorValue, replyError } from '../reply-errors.ts'
import { isErrorEvent } from '../events/event-reader.ts'
import type { DocumentHandlers, ImageField, ImageText } from './document-scanner.ts'
import type { FailedImage, ImageReceiver, ImageStart, ReceivedImage, ImageWriter } from './image-receiver.ts'
import { keepDamaged } from '../../files/media-file.ts'
import { base64Start, createBase64Decoder, createPercentDecoder } from '../base64.ts'

/** Collects the images of a reply, and what else its messages say. */
export interface ImageCollector extends DocumentHandlers {
  readonly images: readonly ReceivedImage[]
  /** The messages that completed images, or reported that there are none. */
  readonly results: readonly unknown[]
  /** How many messages of any kind have come whole. */
  readonly messages: number
  /** Why images are missing, in the order of the reply. */
  readonly failures: readonly FailedImage[]
  /** Whether nothing more is expected: all requested images have come, or a list of images. */
  readonly complete: boolean
  /** The reply broke off: what has come of an image is not whole. @returns the error, with where that is kept */
  keepDamaged(error: unknown): Promise<unknown>
  /** Gives up what has not been completed. */
  discard(): Promise<void>
}

/** @param eventName the name of the event that is being read */
export function createImageCollector(receiver: ImageReceiver, eventName: () => string): ImageCollector {
  const images: ReceivedImage[] = []
  const results: unknown[] = []
  /** How many partial images have come, by image. */
  const partials = new Map<number, number>()
  let messages = 0
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

  const collect = async (item: JsonObject, index: number, received: 'whole' | ModelgateError | undefined) => {
    positionOf(index)
    if (received instanceof ModelgateError) {
      failures.push({ index, error: received })
      return
    }
    const url = stringOf(item['url'])?.trim()
    if (received === undefined && !url) {
      failures.push({ index, error: item['error'] ? replyError(item) : noImage() })
      return
    }
    if (received === undefined) await receiver.url({ index, url: url! })
    const image: ReceivedImage = { index, revised_prompt: stringOf(item['revised_prompt']) ?? null }
    images.push(image)
    await receiver.received?.(image)
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
      if (isObject(message['usage'])) receiver.usage?.(message['usage'])
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
    discard: () => assembler.discard(),
    images,
    failures,
    results,
    get messages() {
      return messages
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
  // A result without images is also a result.
  return 'created' in message || data === null ? [] : undefined
}

/** The subject of a message, according to its type. */
type MessageKind = 'partial' | 'final' | 'error' | 'unknown'

/**
 * The kind of a message from its `type`, or from the name of its event: `image_generation.partial_image`,
 * `image_edit.completed`, `error`, `upstream_error` (wire notes, section 4 and quirk 17).
 */
function kindOf(message: JsonObject, eventName: string): MessageKind {
  if (isErrorEvent(eventName)) return 'error'
  const type = stringOf(message['type']) ?? eventName
  if (/partial/i.test(type)) return 'partial'
  if (/(?:^|[._])(?:error|failed)$/i.test(type)) return 'error'
  return /completed$/i.test(type) ? 'final' : 'unknown'
}

/** The outcomes of the images in a message, by the position of their items. */
type Outcomes = Map<number, 'whole' | ModelgateError>

interface AssemblerOptions {
  open(position: number, kind: MessageKind, head: JsonObject): Promise<ImageWriter>
  /** The name of the current event, for messages that do not name their type. */
  eventName(): string
}

/**
 * Passes the images of a message on into their writers while the message arrives. An image that is broken or cannot be
 * written is given up, and the others go on: they have been paid for, too. Whatever else goes wrong ends everything.
 */
function createImageAssembler({ open, eventName }: AssemblerOptions) {
  let outcomes: Outcomes = new Map()
  let current: ReturnType<typeof createImagePayload> | undefined
  /** An image whose message has not yet said whether it is only a partial one. */
  let undecided: ImageWriter | undefined

  /** Resolves with the error of an image that is broken or cannot be written. */
  const attempt = async (keep: (error: unknown) => Promise<unknown>, step: () => Promise<void>) => {
    try {
      await step()
      return undefined
    } catch (error) {
      if (!(error instanceof ModelgateError) || !concernsOne(error)) throw error
      return (await keep(error)) as ModelgateError
    }
  }

  return {
    /** @param head the message up to the image */
    begin({ item, field }: ImageField, head: () => string): ImageText {
      const position = item ?? 0
      // Of `b64_json` and `url`, and of a field that is named twice, the first that holds an image counts.
      if (typeof outcomes.get(position) === 'string') return ignored
      const known = item === null ? parseHead(head()) : {}
      const kind = item === null ? kindOf(known, eventName()) : 'final'
      let broken: ModelgateError | undefined
      const payload = createImagePayload(() => open(position, kind, known), field === 'url' ? 'data:' : '')
      current = payload
      const next = async (step: () => Promise<void>) => {
        if (broken === undefined) broken = await attempt(payload.keepDamaged, step)
        if (broken !== undefined) outcomes.set(position, broken)
      }
      const finish = async () => {
        const writer = await payload.end()
        if (writer === undefined) return
        if (kind === 'unknown') undecided = writer
        else await writer.commit()
        outcomes.set(position, 'whole')
      }
      return {
        push: (text) => next(() => payload.push(text)),
        async end() {
          await next(finish)
          current = undefined
        },
      }
    },
    /** The message has ended. */
    async settle(kind: MessageKind): Promise<Outcomes> {
      const settled = outcomes
      const writer = undecided
      outcomes = new Map()
      undecided = undefined
      if (writer === undefined) return settled
      const broken = await attempt(
        (error) => keepDamaged(writer, error),
        () => (kind === 'partial' ? writer.discard() : writer.commit()),
      )
      if (broken !== undefined) settled.set(0, broken)
      return settled
    },
    /** The reply broke off: what has come of an image is not whole. @returns the error, with where that is kept */
    async keepDamaged(error: unknown): Promise<unknown> {
      if (undecided !== undefined) return await keepDamaged(undecided, error)
      await current?.flush()
      return (await current?.keepDamaged(error)) ?? error
    },
    /** Gives up what has not been completed. */
    async discard() {
      await current?.discard()
      await undecided?.discard()
    },
  }
}

const concernsOne = ({ exit }: ModelgateError) => exit === 'contract' || exit === 'io'

const ignored: ImageText = { push: async () => {}, end: async () => {} }

/** A message that has not come whole, up to where an image begins in it. */
function parseHead(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

/**
 * Decodes base64, or a data URL that holds it (quirk 15), into a writer that is opened when there are bytes for it.
 * @param begun the beginning of the text, which has come already
 */
function createImagePayload(open: () => Promise<ImageWriter>, begun = '') {
  let writer: ImageWriter | undefined
  let isDataUrl = false
  /** What has come while it is unknown where the base64 begins; undefined afterwards. */
  let head: string | undefined = begun

  const decoder = createBase64Decoder(async (bytes) => {
    writer ??= await open()
    await writer.write(bytes)
  })
  const escapes = createPercentDecoder()
  const decode = (text: Buffer) => decoder.push(isDataUrl ? escapes.push(text) : text)
  const begin = async (final: boolean) => {
    const text = head!.trimStart()
    const start = base64Start(text, final)
    if (start === undefined) return
    head = undefined
    isDataUrl = start > 0
    await decode(Buffer.from(text.slice(start), 'latin1'))
  }
  return {
    /** ASCII bytes, cut anywhere. @throws ContractError `bad_base64`, and what the writer throws */
    async push(text: Buffer) {
      if (head === undefined) return decode(text)
      head += text.toString('latin1')
      await begin(false)
    },
    /** The text has ended. Resolves with the writer, not yet committed; undefined when there was nothing in it. */
    async end() {
      if (head !== undefined) await begin(true)
      await decoder.push(escapes.end())
      await decoder.end()
      return writer
    },
    flush: () => decoder.flush(),
    /** What has come is not whole. @returns the error, with where that is kept */
    async keepDamaged(error: unknown) {
      return writer === undefined ? error : await keepDamaged(writer, error)
    },
    async discard() {
      await writer?.discard()
      writer = undefined
    },
  }
}
