import { maxJobReplyBytes } from '../../contract/limits.ts'
import { ContractError, ModelgateError } from '../../errors.ts'
import { createMessageReader } from '../events/message-reader.ts'
import { stalledError } from '../events/reader-errors.ts'
import { ExchangeError } from '../exchange-error.ts'
import type { Gateway, GatewayReply } from '../gateway.ts'
import { createProgressBudget } from '../progress-budget.ts'
import { brokenError } from '../send-request.ts'
import type { RequestKind } from '../status-error.ts'
import { readBeginning, withWholeIds } from './reply-beginning.ts'

/** As much of a reply is kept as may hold the name of a job. */
const longestBeginning = 4_096

const isBlank = (byte: number) => byte === 32 || (byte >= 9 && byte <= 13)

/** A reply as a value, and as it was written. */
export interface JobReply {
  readonly value: unknown
  readonly text: string
}

/**
 * Reads the one JSON value of a reply, whole.
 * @throws ContractError for what is no JSON, HTML, and more than the limit; ModelgateError for a reply that is cut,
 *   unless it tells the name of a new job and is cut only after that
 */
export async function readJobReply(
  { clock, limits }: Pick<Gateway, 'clock' | 'limits'>,
  reply: GatewayReply,
  kind: RequestKind,
): Promise<JobReply> {
  const values: JobReply[] = []
  let beginning = ''
  const onMessage = (value: unknown, text: string) =>
    values.push({ value: kind === 'create' ? withWholeIds(value, text) : value, text })
  const reader = createMessageReader({ onMessage }, maxJobReplyBytes)
  let stall: ModelgateError | undefined
  const progress = createProgressBudget(clock, limits.progress, {
    onStall() {
      stall = stalledError((limits.progress ?? 0) / 1000)
      reply.close()
    },
  })
  let pending = 0
  try {
    for await (const chunk of reply.body) {
      if (beginning.length < longestBeginning) beginning += Buffer.from(chunk).toString('latin1')
      reader.push(chunk)
      // Blanks are signs of life, and no progress.
      if (!chunk.every(isBlank)) progress.received(Math.max(0, reader.pending - pending))
      pending = reader.pending
      if (reader.done) break
    }
    if (stall !== undefined) throw stall
    reader.end()
  } catch (error) {
    // Whatever the rest of the message was to be: a job that is paid for must not lose its name.
    const isCut = error instanceof ExchangeError
    const isShort = isCut || error === stall || isTruncation(error)
    if (kind === 'create' && isShort && values.length === 0) {
      const begun = readBeginning(Buffer.from(beginning, 'latin1').toString())
      if (begun !== undefined) values.push(begun)
    }
    const isEnough = kind === 'create' && isShort && values.length > 0
    if (!isEnough) throw isCut ? brokenError(error, kind) : error
  } finally {
    progress.stop()
    reply.close()
  }
  const [first] = values
  if (first !== undefined) return first
  throw new ContractError('reply_not_understood', 'The reply holds no JSON.')
}

function isTruncation(error: unknown): boolean {
  return error instanceof ModelgateError && error.code === 'stream_truncated'
}
