import { ContractError, GenerationError, ModelgateError, type ErrorCode } from '../errors.ts'
import { createMessageReader, type FastPath } from './message-reader.ts'
import { truncated } from './reply-errors.ts'
import { ExchangeError } from './exchange-error.ts'
import type { Gateway, GatewayReply, GatewayRequest } from './gateway.ts'
import { readBody, sendRequest } from './send-request.ts'
import { brokenError } from './gateway-errors.ts'
import type { FinishReason, TextEvent, TextResult } from '../events/text.ts'
import type { JsonObject } from '../json.ts'

export interface TextDecoder {
  /** @throws ModelgateError when it says that the generation failed */
  message(value: unknown): void
  /** Nearly all messages of a long answer. */
  readonly fastPath?: FastPath | undefined
  /** `settled`: everything needed has come. The connection usually closes then; usage or an error may still follow. */
  readonly state: 'open' | 'settled'
  /** Whether no more of the answer can follow once it is settled. */
  readonly endIsCertain: boolean
  result(): TextResult
  /** Undefined unless `keepReply`. */
  reply(): TextReply | undefined
  /** @param marked whether the stream ended with `[DONE]`. @throws ModelgateError when the whole reply is not a success */
  finish(marked: boolean): void
}

export interface TextReply {
  readonly text: string
  /** Of content generation, each of its parts as it was sent. */
  readonly content?: JsonObject
  /** Of a response, each of its items as it was sent. */
  readonly id?: string
  readonly model?: string
  readonly output?: readonly unknown[]
  /** The answer broke off, or it was longer than what is kept. */
  readonly is_partial?: true
}

export interface DecoderOptions {
  readonly emit: (event: TextEvent) => void
  /** Whether `result().response` is wanted, which takes memory. */
  readonly keepResponse: boolean
  /** Else the texts of `result()` may be only a beginning. */
  readonly keepText: boolean
  /** Whether `reply()` is wanted: up to `maxReplyCharacters`. */
  readonly keepReply?: boolean
  /** The stream begins in the middle of the answer: what was streamed before it is not emitted. */
  readonly isRest?: boolean
}

export interface TextReceiver {
  /** Gets the JSON of each message. Without it, decoding is faster. */
  readonly raw?: ((text: string) => void) | undefined
  /** The stream waits for it after each chunk. */
  flush(): Promise<void>
  /** Whether a message is passed on; with it every message is parsed, which is slower. */
  accepts?(value: unknown): boolean
  replied?(requestId: string | null): void
}

/** @throws ModelgateError for everything but a complete, successful generation; the decoder has what came by then */
export async function streamText(
  gateway: Gateway,
  request: GatewayRequest,
  decoder: TextDecoder,
  receiver: TextReceiver,
): Promise<void> {
  decoder.finish(await readTextReply(gateway, await sendRequest(gateway, request), decoder, receiver))
}

/** @returns whether it ended with `[DONE]`. @throws ModelgateError for a reply that breaks before the generation has ended */
export async function readTextReply(
  gateway: Gateway,
  reply: GatewayReply,
  decoder: TextDecoder,
  receiver: TextReceiver,
): Promise<boolean> {
  receiver.replied?.(reply.requestId)
  const isParsed = receiver.raw !== undefined || receiver.accepts !== undefined
  const reader = createMessageReader({
    fastPath: isParsed ? undefined : decoder.fastPath,
    onMessage(value, text) {
      if (receiver.accepts?.(value) === false) return
      receiver.raw?.(text)
      decoder.message(value)
    },
  })
  const body = readBody(gateway, reply, {
    // What is only pending when all has arrived is not waited for.
    progress: () => ({ messages: reader.messages, bytes: decoder.state === 'open' ? reader.pending : 0 }),
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
  return reader.done
}

/** A connection that breaks after the end has arrived (fault E12), or what cannot be read after it (fault E13). */
function breaksNothing(error: unknown, { endIsCertain }: TextDecoder): boolean {
  if (error instanceof ExchangeError) return true
  const harmless = ['connection_lost', 'reply_not_understood', ...(endIsCertain ? ['generation_failed'] : [])]
  return error instanceof ModelgateError && harmless.includes(error.code)
}

function translate(error: unknown, decoder: TextDecoder): unknown {
  if (!(error instanceof ExchangeError)) return error
  // Only a connection that just ended is a truncation.
  if (error.fault !== 'reset') return brokenError(error, 'text')
  const truncated = truncatedError(decoder.result())
  return truncated.amend({ message: `${truncated.message} ${error.message}`, cause: error })
}

const failures: Partial<Record<FinishReason, readonly [code: ErrorCode, message: string]>> = {
  content_filter: ['content_refused', 'The gateway blocked the answer'],
  refusal: ['content_refused', 'The model refused to answer'],
  cancelled: ['generation_failed', 'The generation was cancelled'],
  error: ['generation_failed', 'The generation failed'],
  other: ['generation_failed', 'The generation ended abnormally'],
}

/** @param generated whether anything usable came. @throws GenerationError for an end that is no success, or without a result */
export function checkFinish(result: TextResult, generated: boolean): void {
  const reason = result.finish_reason
  const reasonGiven = givenReason(result)
  // What was refused before anything was generated may have cost nothing.
  const isSpent = generated || (result.usage?.output_tokens ?? 0) > 0
  const facts = { billed: isSpent ? 'yes' : 'maybe', remoteId: result.response_id ?? undefined } as const
  const failure = failures[reason]
  if (failure !== undefined) {
    const hint = reason === 'cancelled' ? undefined : 'Change the prompt.'
    throw new GenerationError(failure[0], `${failure[1]}${reasonGiven}.`, { ...facts, hint })
  }
  if (reason === 'length' && result.text === '') {
    const message = `The token limit was reached before any text${reasonGiven}.`
    const hint = 'Raise --max-output-tokens, or lower the reasoning effort.'
    throw new GenerationError('no_text_before_limit', message, { ...facts, hint })
  }
  if (!generated) {
    throw new GenerationError('nothing_generated', `Nothing was generated${reasonGiven}.`, facts)
  }
}

/** The gateway's own finish reason and message, where they say more than the reason. */
function givenReason({
  finish_reason: reason,
  raw_finish_reason,
  finish_message: message,
}: TextResult): string {
  const word =
    raw_finish_reason === reason || raw_finish_reason === 'completed' ? undefined : raw_finish_reason
  const words = [word?.slice(0, 80), message?.replaceAll(/\s+/g, ' ').trim().slice(0, 400)].filter(Boolean)
  return words.length === 0 ? '' : ` (${words.join(': ')})`
}

/** The stream ended in order, but before the generation did. */
export function truncatedError({ response_id: id }: TextResult): ModelgateError {
  return truncated('The stream ended before the answer was complete.').amend({ remoteId: id ?? undefined })
}

/** The gateway continues the response in the background (`background`): there is only its id to print. */
export function stillRunning({ response_id: id }: TextResult, status: string): ModelgateError {
  const name = id === null ? 'The response' : `The response ${id}`
  return new ModelgateError('running', 'still_running', `${name} is still running (${status}).`, {
    phase: 'result',
    billed: 'yes',
    remoteId: id ?? undefined,
    hint: 'Keep the id: the gateway continues it in the background.',
  })
}

export function notUnderstood(): ContractError {
  const message = 'The reply contains neither text nor the end of a generation.'
  return new ContractError('reply_not_understood', message, { hint: 'See it with --raw.' })
}
