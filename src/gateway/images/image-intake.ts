import { ModelgateError } from '../../errors.ts'
import type { JsonObject } from '../json-access.ts'
import type { ImageText } from './document-scanner.ts'
import { keepDamaged } from '../keep-damaged.ts'
import { kindOf, parseHead, type MessageKind } from './image-message.ts'
import { createImagePayload, type ImagePayload } from './image-payload.ts'
import type { ImageWriter, ReceivedImage } from './image-receiver.ts'
import type { ImagePlace } from './place-tracker.ts'

/** What came of the images in one message, by the position of their items. */
export type Outcomes = ReadonlyMap<number, ReceivedImage['source'] | ModelgateError>

/** Passes the images of a message on while the message arrives. */
export interface ImageIntake {
  /** @param head the message up to the image */
  begin(place: ImagePlace, head: () => string): ImageText
  /** The message has ended. */
  settle(kind: MessageKind): Promise<Outcomes>
  /** The reply broke off: what has come of an image is not whole. @returns the error, with where that is kept */
  keepDamaged(error: unknown): Promise<unknown>
  /** Gives up what has not been completed. */
  drop(): Promise<void>
}

export interface IntakeOptions {
  /** Opens the writer for the image at a position of the message. */
  open(position: number, kind: MessageKind, head: JsonObject): Promise<ImageWriter>
  /** The name of the current event, for messages that do not name their type. */
  eventName(): string
}

/**
 * An intake whose images go into their writers at once. An image that is broken or cannot be written is given up, and
 * the others go on: they have been paid for, too. Whatever else goes wrong ends everything.
 */
export function createImageIntake({ open, eventName }: IntakeOptions): ImageIntake {
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
