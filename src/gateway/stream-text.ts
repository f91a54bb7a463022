import { ModelgateError } from '../errors.ts'
import { createMessageReader } from './events/message-reader.ts'
import { stalledError } from './events/reader-errors.ts'
import { ExchangeError } from './exchange-error.ts'
import type { Gateway, GatewayRequest } from './gateway.ts'
import { createProgressBudget } from './progress-budget.ts'
import { brokenError, sendRequest } from './send-request.ts'
import { truncatedError, type TextDecoder } from './text-decoder.ts'
import { createWatchdog } from './watchdog.ts'

/** Where the pieces of a text reply go while it arrives. */
export interface TextReceiver {
  /** The JSON text of each message, as it came; whoever does without it has its text sooner. */
  readonly raw?: ((text: string) => void) | undefined
  /** Called after each chunk from the network; the stream waits for it. */
  flush(): Promise<void>
  /** The headers have come. */
  replied?(requestId: string | null): void
}

/** A receiver that takes longer than this, in milliseconds, has held us up. */
const noticeableMs = 100

/** How long a reply that is settled may stay open for what may still follow, in milliseconds (fault E11). */
const graceMs = { certain: 1_000, uncertain: 5_000 } as const

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
  const { clock, limits } = gateway
  const grace = createWatchdog(clock)
  const patience = decoder.endIsCertain ? graceMs.certain : graceMs.uncertain
  let stalled: ModelgateError | undefined
  /** While the receiver holds us up, silence is not the gateway's. */
  let flushing = false
  const progress = createProgressBudget(clock, limits.progress, {
    onStall() {
      stalled = stalledError((limits.progress ?? 0) / 1000)
      reply.close()
    },
    isOurs: () => flushing,
  })
  const onGraceOver = () => (flushing ? grace.watch(patience, onGraceOver) : reply.close())
  const flush = async () => {
    const begun = clock.monotonic()
    flushing = true
    await receiver.flush()
    flushing = false
    if (clock.monotonic() - begun > noticeableMs) progress.completed()
  }
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
  try {
    for await (const chunk of reply.body) {
      reader.push(chunk)
      if (meaningful) progress.completed()
      else progress.received(Math.max(0, reader.pending - pending))
      pending = reader.pending
      await flush()
      if (reader.done) break
      // Comments may go on for ever: only what means something prolongs the grace.
      if (decoder.state === 'open') grace.stop()
      else if (meaningful) grace.watch(patience, onGraceOver)
      meaningful = false
    }
    if (stalled !== undefined) throw stalled
    reader.end()
  } catch (error) {
    if (decoder.state === 'open' || !breaksNothing(error, decoder)) throw translate(error, decoder)
  } finally {
    progress.stop()
    grace.stop()
    reply.close()
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
