import { ContractError, ModelgateError } from '../errors.ts'
import { jobReplyBeginningBytes } from '../files/calls/reply-log.ts'
import { createMessageReader } from './message-reader.ts'
import { ExchangeError } from './exchange-error.ts'
import type { Gateway, GatewayReply, GatewayRequest } from './gateway.ts'
import { readBody, requestWhole, sendRequest } from './send-request.ts'
import { brokenError } from './gateway-errors.ts'

export type JsonReply = Recovered & Pick<GatewayReply, 'status' | 'headers' | 'requestId'>

export interface Recovered {
  readonly value: unknown
  readonly text: string
  readonly isCut: boolean
}

interface JsonReading<Result> {
  /** In characters; by default as much as one message in a stream. */
  readonly maxLength?: number
  readonly recover?: Recovery | undefined
  /** What it throws gets the id of the request. */
  readonly convert: (reply: JsonReply) => Result
}

/** Makes a value of the beginning of one, in a reply that was cut; undefined if it is not usable. */
export type Recovery = (beginning: string) => Recovered | undefined

/**
 * Reads the one JSON value of a reply. Of several values the first counts; an error object with a status of 200 to 299 is one.
 * @throws ContractError for what is no JSON or too large; ModelgateError for a reply that is cut or stalls, unless the value
 *   had come by then or could be recovered; what `sendRequest` throws
 */
export async function requestJson<Result>(
  gateway: Gateway,
  request: GatewayRequest,
  { convert, ...reading }: JsonReading<Result>,
): Promise<Result> {
  const read = async (reply: GatewayReply) => {
    try {
      return convert(await readJsonReply(gateway, request, reply, reading))
    } catch (error) {
      const { requestId } = reply
      if (!(error instanceof ModelgateError) || requestId === null) throw error
      // By it the gateway's operator finds the request.
      throw error.amend({ requestId, ...error.facts })
    }
  }
  const { kind } = request
  if (kind === 'read') return await requestWhole(gateway, { ...request, kind }, read)
  return await read(await sendRequest(gateway, request))
}

async function readJsonReply(
  gateway: Gateway,
  request: GatewayRequest,
  reply: GatewayReply,
  { maxLength, recover }: Pick<JsonReading<unknown>, 'maxLength' | 'recover'>,
): Promise<JsonReply> {
  let found: Recovered | undefined
  let beginning = ''
  const onMessage = (value: unknown, text: string) => void (found ??= { value, text, isCut: false })
  const reader = createMessageReader({ onMessage }, maxLength)
  const body = readBody(gateway, reply, {
    progress: () => ({ messages: 0, bytes: reader.pending }),
  })
  try {
    for await (const chunk of body) {
      const missing = recover === undefined ? 0 : jobReplyBeginningBytes - beginning.length
      if (missing > 0) beginning += Buffer.from(chunk.subarray(0, missing)).toString('latin1')
      reader.push(chunk)
      if (reader.done) break
    }
    reader.end()
  } catch (error) {
    const isRecoverable = recover !== undefined && isCut(error)
    if (isRecoverable) found ??= recover(Buffer.from(beginning, 'latin1').toString())
    if (!isRecoverable || found === undefined) {
      throw error instanceof ExchangeError ? brokenError(error, request.kind) : error
    }
  }
  if (found === undefined) throw new ContractError('reply_not_understood', 'The reply contains no JSON.')
  const { status, headers, requestId } = reply
  return { ...found, status, headers, requestId }
}

function isCut(error: unknown): boolean {
  if (error instanceof ExchangeError) return true
  return error instanceof ModelgateError && (error.code === 'connection_lost' || error.code === 'timeout')
}
