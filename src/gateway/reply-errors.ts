import { ContractError, GenerationError, ModelgateError } from '../errors.ts'
import { htmlPage } from './error-body.ts'

/** Relays write a failure as `data: plain text` (quirk 9). */
export function plainFailure(text: string): GenerationError {
  return new GenerationError('generation_failed', `The gateway aborted the reply: ${text.slice(0, 400)}`)
}

export function htmlReply(text: string): ContractError {
  return new ContractError('reply_not_understood', `The gateway answered with ${htmlPage(text)}.`, {
    hint: 'Check the base URL (--base-url): a proxy or a web site answers there.',
  })
}

export function tooLarge(limit: number): ContractError {
  const message = `A single message of the reply is larger than ${Math.round(limit / 1_048_576)} MiB.`
  return new ContractError('reply_too_large', message)
}

/** The lines of data of one event: a message of the greatest size with a line for every few words has fewer. */
export const maxEventLines = 4 * 1024 ** 2

export function tooManyLines(): ContractError {
  const message = `A single event of the reply has more than ${maxEventLines} lines of data.`
  return new ContractError('reply_too_large', message)
}

/** The content is left out: error messages show no prompt or reply (fault S15). */
export function malformed(): ContractError {
  return new ContractError('reply_not_understood', 'A message of the reply is not valid JSON.')
}

/** The beginning of the hint for an unknown outcome. */
export const checkUsage = 'Check your usage before you run it again'

/** The body ended normally, but too early: inside a message, or before the end of the generation. */
export function truncated(message = 'The reply was cut off in the middle.'): ModelgateError {
  const facts = { phase: 'stream', billed: 'maybe', hint: `${checkUsage}.` } as const
  return new ModelgateError('unknown', 'connection_lost', message, facts)
}

/** Next to nothing has come for this long. */
export function stalledError(seconds: number): ModelgateError {
  const hint = 'Allow more time with --progress-timeout.'
  const facts = { phase: 'stream', billed: 'maybe', hint } as const
  return new ModelgateError('unknown', 'timeout', `The reply made no progress for ${seconds} s.`, facts)
}
