import { ModelgateError } from '../errors.ts'
import { createMessageReader } from './events/message-reader.ts'
import { ExchangeError } from './exchange-error.ts'
import { brokenError, sendRequest, type Gateway, type GatewayRequest } from './gateway.ts'
import { truncatedError, type TextDecoder } from './text-decoder.ts'
import { createWatchdog } from './watchdog.ts'

/** Where the pieces of a text reply go while it arrives. */
export interface TextReceiver {
  /** The JSON text of one message, as it came. */
  raw(text: string): void
  /** Called after each chunk from the network; the stream waits for it. */
  flush(): Promise<void>
  /** The headers have come. */
  replied?(requestId: string | null): void
}

/** How long a reply whose end has come may stay open, for what may still follow (fault E11). */
const graceMs = 1_000

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
  const watchdog = createWatchdog(gateway.clock)
  let stalled: ModelgateError | undefined
  const grace = createWatchdog(gateway.clock)
  watchdog.watch(gateway.limits.progress, () => {
    stalled = stalledError((gateway.limits.progress ?? 0) / 1000)
    reply.close()
  })
  let meaningful = false
  const reader = createMessageReader({
    skim(text) {
      if (!decoder.skim?.(text)) return false
      meaningful = true
      receiver.raw(text)
      return true
    },
    onMessage(value, text) {
      meaningful = true
      receiver.raw(text)
      decoder.message(value)
    },
  })
  try {
    for await (const chunk of reply.body) {
      reader.push(chunk)
      if (meaningful) watchdog.touch()
      meaningful = false
      await receiver.flush()
      if (reader.done) break
      grace.watch(decoder.state === 'settled' ? graceMs : undefined, () => reply.close())
    }
    if (stalled !== undefined) throw stalled
    reader.end()
  } catch (error) {
    // A connection that breaks after the end has come breaks nothing (fault E12).
    if (!(error instanceof ExchangeError) || decoder.state === 'open') throw translate(error, decoder)
  } finally {
    watchdog.stop()
    grace.stop()
    reply.close()
    await receiver.flush()
  }
  const verdict = decoder.verdict(reader.done)
  if (verdict !== undefined) throw verdict
}

function translate(error: unknown, decoder: TextDecoder): unknown {
  if (!(error instanceof ExchangeError)) return error
  if (error.fault === 'timeout' || error.fault === 'deadline') return brokenError(error, 'text')
  const truncated = truncatedError(decoder.result())
  return new ModelgateError(truncated.exit, truncated.code, `${truncated.message} ${error.message}`, {
    ...truncated.facts,
    cause: error,
  })
}

function stalledError(seconds: number): ModelgateError {
  return new ModelgateError('unknown', 'stream_stalled', `Nothing but signs of life came for ${seconds} s.`, {
    phase: 'stream',
    billed: 'maybe',
    hint: 'Allow more time with --progress-timeout.',
  })
}
