import { maxEventLines } from '../../contract/limits.ts'
import { ContractError, GenerationError, ModelgateError } from '../../errors.ts'
import { readErrorValue } from '../error-body.ts'

/** A proxy or a web site answered. Only the title of its page is told. */
export function htmlReply(text: string): ContractError {
  const title = /<title[^>]*>([^<]*)/i.exec(text)?.[1]?.replaceAll(/\s+/g, ' ').trim().slice(0, 200)
  return new ContractError(
    'html_reply',
    `The gateway answered with an HTML page${title ? `, "${title}"` : ''}.`,
    {
      hint: 'Check the base URL (--base-url): a proxy or a web site answers there.',
    },
  )
}

export function tooLarge(limit: number): ContractError {
  return new ContractError(
    'message_too_large',
    `A single message of the reply is larger than ${Math.round(limit / 1_048_576)} MiB.`,
  )
}

export function tooManyLines(): ContractError {
  return new ContractError(
    'message_too_large',
    `A single event of the reply has more than ${maxEventLines} lines of data.`,
  )
}

/** The message is told without its content: error messages carry no prompt or reply (fault S15). */
export function malformed(): ContractError {
  return new ContractError('malformed_message', 'A message of the reply is not valid JSON.')
}

/** The body ended inside a message. */
export function cut(): ModelgateError {
  return new ModelgateError('unknown', 'stream_truncated', 'The reply was cut off in the middle.', {
    phase: 'stream',
    billed: 'maybe',
    hint: 'Check your usage before you run it again.',
  })
}

/** Relays write a failure as `data: plain text` (quirk 9). */
export function plainFailure(text: string): GenerationError {
  return new GenerationError('stream_error', `The gateway broke off: ${text.slice(0, 400)}`)
}

/** For this many seconds came keep-alives and nothing else, or next to nothing. */
export function stalledError(seconds: number): ModelgateError {
  return new ModelgateError('unknown', 'stream_stalled', `The reply made no progress for ${seconds} s.`, {
    phase: 'stream',
    billed: 'maybe',
    hint: 'Allow more time with --progress-timeout.',
  })
}

/**
 * An error inside a reply whose HTTP status said nothing of it: an error object or event, nested or flat.
 * @param value the object that holds it
 */
export function replyError(value: unknown): GenerationError {
  const { message, code } = readErrorValue(value)
  return new GenerationError(
    codeWord(code),
    `The gateway reported an error: ${message ?? code ?? 'no reason given'}`,
    {
      phase: 'stream',
    },
  )
}

/** Whether an event of this type reports a failure (wire notes, section 2, and quirk 17). */
export function isErrorEvent(type: unknown): boolean {
  return type === 'error' || type === 'upstream_error'
}

/** The gateway's own word as a stable one of ours; a number says nothing. */
function codeWord(code: string | undefined): string {
  const word = code
    ?.toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
  return word && !/^\d+$/.test(word) ? word.slice(0, 60) : 'error_in_reply'
}
