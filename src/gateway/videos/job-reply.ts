import { maxJobReplyBytes } from '../../contract/limits.ts'
import { ContractError, type ModelgateError } from '../../errors.ts'
import { createMessageReader } from '../events/message-reader.ts'
import { stalledError } from '../events/reader-errors.ts'
import { ExchangeError } from '../exchange-error.ts'
import { brokenError, type Gateway, type GatewayReply } from '../gateway.ts'
import type { RequestKind } from '../status-error.ts'
import { createWatchdog } from '../watchdog.ts'

const isBlank = (byte: number) => byte === 32 || (byte >= 9 && byte <= 13)

/**
 * Reads the one JSON value of a reply, whole.
 * @throws ContractError for what is no JSON, HTML, and more than the limit; ModelgateError for a reply that is cut,
 *   unless it tells of a new job and is cut only after that
 */
export async function readJobReply(
  { clock, limits }: Pick<Gateway, 'clock' | 'limits'>,
  reply: GatewayReply,
  kind: RequestKind,
): Promise<unknown> {
  const values: unknown[] = []
  const reader = createMessageReader({ onMessage: (value) => values.push(value) }, maxJobReplyBytes)
  const silence = createWatchdog(clock)
  let stall: ModelgateError | undefined
  silence.watch(limits.progress, () => {
    stall = stalledError((limits.progress ?? 0) / 1000)
    reply.close()
  })
  try {
    for await (const chunk of reply.body) {
      reader.push(chunk)
      // Blanks are signs of life, and no progress.
      if (!chunk.every(isBlank)) silence.touch()
      if (reader.done) break
    }
    if (stall !== undefined) throw stall
    reader.end()
  } catch (error) {
    // The value is whole, whatever the rest of the message was to be: a job that is paid for must not lose its name.
    const isCut = error instanceof ExchangeError
    const isEnough = kind === 'create' && values.length > 0 && (isCut || error === stall)
    if (!isEnough) throw isCut ? brokenError(error, kind) : error
  } finally {
    silence.stop()
    reply.close()
  }
  if (values.length > 0) return values[0]
  throw new ContractError('reply_not_understood', 'The reply holds no JSON.')
}
