import { ContractError, GenerationError, type ModelgateError } from '../../errors.ts'
import { truncated } from '../reply-errors.ts'
import { ExchangeError } from '../exchange-error.ts'
import type { Gateway, GatewayRequest } from '../gateway.ts'
import { readBody } from '../reply-body.ts'
import { brokenError } from '../gateway-errors.ts'
import { sendRequest } from '../send-request.ts'
import { ImageReply, type ImageReceiver, type ImageWriter } from './image-reply.ts'

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

export const discardingWriter: ImageWriter = {
  write: async () => {},
  commit: async () => {},
  commitDamaged: async () => undefined,
  discard: async () => {},
}

/** A connection that breaks after the end has come (fault E12), or what cannot be read after it (fault E13). */
function breaksNothing(error: unknown): boolean {
  return error instanceof ExchangeError || error instanceof ContractError || error instanceof GenerationError
}

/** For a reply that ended in order without an image. */
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
