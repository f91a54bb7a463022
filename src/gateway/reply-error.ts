import { GenerationError } from '../errors.ts'
import { readErrorValue } from './error-body.ts'

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

/** Whether an event of this type reports a failure (wire facts, section 2, and quirk 17). */
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
