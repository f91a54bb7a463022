import { ContractError, ModelgateError } from '../../errors.ts'
import { parseMessage } from '../events/json-reader.ts'
import { numberOf, objectOf, stringOf, type JsonObject, isObject } from '../../json.ts'
import { isErrorEvent, readErrorValue, replyError } from '../reply-errors.ts'
import { positionOf } from '../text-decoder.ts'
import type { DocumentHandlers, ImageText } from './document-scanner.ts'
import type { FailedImage, ImageReceiver, ImageStart, ReceivedImage, ImageWriter } from './image-receiver.ts'
import { keepDamaged } from '../../files/media-file.ts'
import { createImagePayload, type ImagePayload } from './image-payload.ts'
import type { ImagePlace } from './place-tracker.ts'

/** Makes images of the messages of a reply, and remembers what else they say. */
export interface ImageCollector extends DocumentHandlers {
  readonly images: readonly ReceivedImage[]
  /** The messages that completed images, or said that there are none. */
  readonly results: readonly unknown[]
  /** How many messages have come whole, of whatever kind. */
  readonly messages: number
  readonly usage: unknown
  readonly created: number | null
  /** Why images are missing, in the order of the reply. */
  readonly failures: readonly FailedImage[]
  /** Nothing more is to be expected: all that were asked for have come, or a list of images. */
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
  /** Where the first image of the current message stands among all. */
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

  const intake = createImageAssembler({
    open: (position, kind, head) => receiver.open(startOf(position, kind, head)),
    eventName,
  })

  const collect = async (
    item: JsonObject,
    index: number,
    came: ReceivedImage['source'] | ModelgateError | undefined,
  ) => {
    positionOf(index)
    if (came instanceof ModelgateError) {
      failures.push({ index, error: came })
      return
    }
    const revisedPrompt = stringOf(item['revised_prompt']) ?? null
    const url = stringOf(item['url'])?.trim()
    if (came === undefined && !url) {
      failures.push({ index, error: item['error'] ? replyError(item) : noImage() })
      return
    }
    if (came === undefined) await receiver.url({ index, url: url! })
    const image: ReceivedImage = { index, revised_prompt: revisedPrompt, source: came ?? 'url' }
    images.push(image)
    if (came !== undefined) await receiver.came?.(image)
  }

  return {
    image: (place, head) => intake.begin(place, head),
    async document(text) {
      messages++
      const message = objectOf(parseMessage(text, Infinity))
      const kind = kindOf(message, eventName())
      const outcomes = await intake.settle(kind)
      // What comes after the end changes nothing any more (fault E13).
      if (isError(message, kind) && !isComplete()) throw replyError(message)
      usage = message['usage'] ?? usage
      created = numberOf(message['created']) ?? numberOf(message['created_at']) ?? created
      const items =
        kind === 'partial' || kind === 'error' ? undefined : itemsOf(message, kind, outcomes.size > 0)
      if (items === undefined) return
      // Of messages without images one tells as much as any number of them.
      if (items.length > 0 || results.length === 0) results.push(message)
      for (const [position, item] of items.entries()) {
        await collect(item, base + position, outcomes.get(position))
      }
      base += items.length
      isList ||= Array.isArray(message['data'])
    },
    keepDamaged: (error) => intake.keepDamaged(error),
    drop: () => intake.drop(),
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

/** The number that a partial image gives itself, if that makes sense. */
function partialIndex(head: JsonObject): number | undefined {
  const told = numberOf(head['partial_image_index'])
  return told !== null && Number.isInteger(told) && told >= 0 && told < 100 ? told : undefined
}

function noImage(): ContractError {
  return new ContractError('no_image', 'The reply names an image and holds neither base64 nor a URL of it.', {
    hint: 'Look at the reply with --raw.',
  })
}

/** What came of the images in one message, by the position of their items. */
type Outcomes = ReadonlyMap<number, ReceivedImage['source'] | ModelgateError>

/** Passes the images of a message on while the message arrives. */
interface ImageAssembler {
  /** @param head the message up to the image */
  begin(place: ImagePlace, head: () => string): ImageText
  /** The message has ended. */
  settle(kind: MessageKind): Promise<Outcomes>
  /** The reply broke off: what has come of an image is not whole. @returns the error, with where that is kept */
  keepDamaged(error: unknown): Promise<unknown>
  /** Gives up what has not been completed. */
  drop(): Promise<void>
}

interface AssemblerOptions {
  /** Opens the writer for the image at a position of the message. */
  open(position: number, kind: MessageKind, head: JsonObject): Promise<ImageWriter>
  /** The name of the current event, for messages that do not name their type. */
  eventName(): string
}

/**
 * An intake whose images go into their writers at once. An image that is broken or cannot be written is given up, and
 * the others go on: they have been paid for, too. Whatever else goes wrong ends everything.
 */
function createImageAssembler({ open, eventName }: AssemblerOptions): ImageAssembler {
  let outcomes = new Map<number, ReceivedImage['source'] | ModelgateError>()
  let current: ImagePayload | undefined
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
    begin({ item, field }, head) {
      const position = item ?? 0
      // Of `b64_json` and `url`, and of a field that is named twice, the first that holds an image counts.
      if (typeof outcomes.get(position) === 'string') return nowhere
      const known = item === null ? parseHead(head()) : {}
      const kind = item === null ? kindOf(known, eventName()) : 'final'
      let source: ReceivedImage['source'] = 'base64'
      let broken: ModelgateError | undefined
      const payload = createImagePayload(
        (isDataUrl) => {
          if (isDataUrl) source = 'data-url'
          return open(position, kind, known)
        },
        field === 'url' ? 'data:' : '',
      )
      current = payload
      const next = async (step: () => Promise<void>) => {
        if (broken === undefined) broken = await attempt(payload.keepDamaged, step)
        if (broken !== undefined) outcomes.set(position, broken)
      }
      const finish = async () => {
        const writer = await payload.end()
        if (writer === undefined) return
        if (kind === 'unknown') undecided = writer
        else await writer.done()
        outcomes.set(position, source)
      }
      return {
        push: (text) => next(() => payload.push(text)),
        async end() {
          await next(finish)
          current = undefined
        },
      }
    },
    async settle(kind) {
      const settled = outcomes
      const writer = undecided
      outcomes = new Map()
      undecided = undefined
      if (writer === undefined) return settled
      const broken = await attempt(
        (error) => keepDamaged(writer, error),
        () => (kind === 'partial' ? writer.drop() : writer.done()),
      )
      if (broken !== undefined) settled.set(0, broken)
      return settled
    },
    async keepDamaged(error) {
      if (undecided !== undefined) return await keepDamaged(undecided, error)
      await current?.flush()
      return (await current?.keepDamaged(error)) ?? error
    },
    async drop() {
      await current?.drop()
      await undecided?.drop()
    },
  }
}

const concernsOne = ({ exit }: ModelgateError) => exit === 'contract' || exit === 'io'

const nowhere: ImageText = { push: async () => {}, end: async () => {} }

/** What a message of the reply is about, as far as its type tells. */
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

/** Whether a message says that something went wrong, whatever its status said (quirks 10 and 17). */
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

/** A message that has not come whole, up to where an image begins in it. */
function parseHead(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}
