import { ModelgateError } from '../errors.ts'
import { createMessageReader } from './events/message-reader.ts'
import { stalledError } from './reply-errors.ts'
import { ExchangeError } from './exchange-error.ts'
import type { Gateway, GatewayRequest } from './gateway.ts'
import { readBody } from './reply-body.ts'
import { brokenError, sendRequest } from './send-request.ts'
import { truncatedError, type TextDecoder } from './text-decoder.ts'

/** Where the pieces of a text reply go while it arrives. */
export interface TextReceiver {
  /** Receives the JSON text of each message, as it came. Without it, text arrives sooner. */
  readonly raw?: ((text: string) => void) | undefined
  /** Called after each chunk from the network; the stream waits for it. */
  flush(): Promise<void>
  /** The headers have come. */
  replied?(requestId: string | null): void
}

/**
 * Sends a text request and reads the reply, streamed or not, until the generation ends.
 * @throws ModelgateError for everything but a complete, successful generation; what had arrived by then
 *   has been given to the decoder
 */
export async function streamText(
  gateway: Gateway,
  request: GatewayRequest,
  decoder: TextDecoder,
  receiver: TextReceiver,
): Promise<void> {
  const reply = await sendRequest(gateway, request)
  receiver.replied?.(reply.requestId)
  let meaningful = false
  let pending = 0
  const fastPath = receiver.raw === undefined ? decoder.fastPath : undefined
  const reader = createMessageReader({
    fastPath: fastPath && {
      pattern: fastPath.pattern,
      take(match) {
        meaningful = true
        fastPath.take(match)
      },
    },
    onMessage(value, text) {
      meaningful = true
      receiver.raw?.(text)
      decoder.message(value)
    },
  })
  const body = readBody(gateway, reply, {
    stalled: stalledError,
    progress() {
      const known = pending
      const completed = meaningful
      pending = reader.pending
      meaningful = false
      // What is only pending when all has come is not waited for.
      return { completed, bytes: decoder.state === 'open' ? Math.max(0, pending - known) : 0 }
    },
    graceMs: () => (decoder.state === 'open' ? undefined : decoder.endIsCertain ? 1_000 : 5_000),
  })
  try {
    for await (const chunk of body) {
      reader.push(chunk)
      await receiver.flush()
      if (reader.done) break
    }
    reader.end()
  } catch (error) {
    if (decoder.state === 'open' || !breaksNothing(error, decoder)) throw translate(error, decoder)
  } finally {
    await receiver.flush()
  }
  const verdict = decoder.verdict(reader.done)
  if (verdict !== undefined) throw verdict
}

/** A connection that breaks after the end has come (fault E12), or what cannot be read after it (fault E13). */
function breaksNothing(error: unknown, { endIsCertain }: TextDecoder): boolean {
  if (error instanceof ExchangeError) return true
  const harmless = ['stream_truncated', 'malformed_message', ...(endIsCertain ? ['stream_error'] : [])]
  return error instanceof ModelgateError && harmless.includes(error.code)
}

function translate(error: unknown, decoder: TextDecoder): unknown {
  if (!(error instanceof ExchangeError)) return error
  // Only a connection that just ended is a truncation.
  if (error.fault !== 'reset') return brokenError(error, 'text')
  const truncated = truncatedError(decoder.result())
  return truncated.amend({ message: `${truncated.message} ${error.message}`, cause: error })
}
