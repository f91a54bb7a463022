import { ContractError, GenerationError, ModelgateError } from '../../errors.ts'
import { stalledError, truncated } from '../reply-errors.ts'
import { ExchangeError } from '../exchange-error.ts'
import type { Gateway, GatewayRequest } from '../gateway.ts'
import { readBody } from '../reply-body.ts'
import { brokenError, sendRequest } from '../send-request.ts'
import { createImageCollector, type ImageCollector } from './assembler.ts'
import type { ImageReceiver, ImageReply, ImageWriter } from './image-receiver.ts'
import { createReplyReader, type ReplyReader } from './reply-reader.ts'

export type { ImageReceiver, ImageReply, ImageWriter } from './image-receiver.ts'

/** How long a reply may stay open after its images have been received, since more data may follow (fault E11). */
const graceMs = 1_000

/**
 * Sends an image request and passes on the images of the reply while it arrives, streamed or not: nothing but
 * one block of one image is in memory, whatever the size of the reply.
 * @throws ModelgateError when the reply is not whole, is an error, or lacks an image that it promises:
 *   the images that came whole until then have been given to the receiver
 */
export async function receiveImages(
  gateway: Gateway,
  request: GatewayRequest,
  receiver: ImageReceiver,
): Promise<ImageReply> {
  const reply = await sendRequest(gateway, request)
  receiver.replied?.(reply.requestId)
  const collector: ImageCollector = createImageCollector(receiver, () => reader.eventName)
  const reader = createReplyReader(collector)
  let known = { bytesRead: 0, messages: 0 }
  const body = readBody(gateway, reply, {
    stalled: stalledError,
    progress() {
      const before = known
      known = { bytesRead: reader.bytesRead, messages: collector.messages }
      return { completed: known.messages > before.messages, bytes: known.bytesRead - before.bytesRead }
    },
    graceMs: () => (isSettled(reader, collector) ? graceMs : undefined),
  })
  try {
    for await (const chunk of body) {
      await reader.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))
      await receiver.flush?.()
      if (reader.done) break
    }
    if (!isSettled(reader, collector)) await reader.end()
  } catch (error) {
    if (!isSettled(reader, collector) || !breaksNothing(error)) {
      const failure = error instanceof ExchangeError ? brokenError(error, request.kind) : error
      throw gateway.signal.aborted ? failure : await collector.keepDamaged(failure)
    }
  } finally {
    await collector.discard()
    await receiver.flush?.()
  }
  const { images, failures, results, usage, created } = collector
  const isPartial = images.length > 0 && receiver.failed !== undefined
  if (failures[0] !== undefined && !isPartial) throw failures[0].error
  const verdict = missing(reader, collector, reply.headers['content-type'])
  if (verdict !== undefined) throw verdict
  for (const failure of failures) receiver.failed?.(failure)
  return {
    requestId: reply.requestId,
    images,
    usage,
    created,
    response: results.length === 1 ? results[0] : results,
  }
}

/**
 * Passes on the bytes of the reply unchanged (`--raw`), and judges it all the same.
 * @param pass gets each chunk; the reply waits for it
 * @returns how many images the reply contains
 * @throws ModelgateError as `receiveImages` does, once everything has been passed on
 */
export async function relayReply(
  gateway: Gateway,
  request: GatewayRequest,
  {
    pass,
    ...told
  }: Pick<ImageReceiver, 'count' | 'replied' | 'usage'> & {
    pass(chunk: Uint8Array): Promise<void>
  },
): Promise<number> {
  const reply = await sendRequest(gateway, request)
  told.replied?.(reply.requestId)
  const collector: ImageCollector = createImageCollector({ ...unread, ...told }, () => reader.eventName)
  const reader = createReplyReader(collector)
  let failure: unknown
  const follow = async (step: () => Promise<void>) => {
    if (failure === undefined) await step().catch((error: unknown) => void (failure = error))
  }
  try {
    for await (const chunk of readBody(gateway, reply, { stalled: stalledError })) {
      await pass(chunk)
      await follow(() => reader.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)))
    }
  } catch (error) {
    throw error instanceof ExchangeError ? brokenError(error, request.kind) : error
  }
  if (!isSettled(reader, collector)) await follow(() => reader.end())
  const { images, failures } = collector
  if (failure !== undefined && !(isSettled(reader, collector) && breaksNothing(failure))) {
    if (images.length === 0 || !(failure instanceof ModelgateError) || !breaksNothing(failure)) throw failure
    throw failure.amend({ exit: 'partial', code: 'some_images_failed', billed: 'yes' })
  }
  const verdict = failures[0]?.error ?? missing(reader, collector, reply.headers['content-type'])
  if (verdict !== undefined && images.length === 0) throw verdict
  return images.length
}

/** Discards data. */
export const discardingWriter: ImageWriter = {
  write: async () => {},
  commit: async () => {},
  commitDamaged: async () => undefined,
  discard: async () => {},
}
const unread: ImageReceiver = { open: async () => discardingWriter, url() {} }

/** Whether everything has come: what may still follow is not waited for long. */
function isSettled(reader: ReplyReader, collector: ImageCollector): boolean {
  return reader.done || collector.complete
}

/** A connection that breaks after the end has come (fault E12), or what cannot be read after it (fault E13). */
function breaksNothing(error: unknown): boolean {
  return error instanceof ExchangeError || error instanceof ContractError || error instanceof GenerationError
}

/** The error for a reply that ended in order without an image. */
function missing(
  reader: ReplyReader,
  { images, results }: ImageCollector,
  contentType = '',
): ModelgateError | undefined {
  if (images.length > 0) return undefined
  if (results.length > 0 || reader.done) {
    return new GenerationError('nothing_generated', 'The gateway answered without an image.', {
      hint: 'Change the prompt; see the reply with --raw.',
    })
  }
  if (reader.isEventStream && (reader.bytesRead > 0 || contentType.includes('event-stream'))) {
    return truncated('The stream ended before the image was complete.')
  }
  return new ContractError('reply_not_understood', 'The reply contains no image.', {
    hint: 'See it with --raw.',
  })
}
