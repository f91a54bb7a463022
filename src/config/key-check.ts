import { maxKeyBytes } from '../contract/limits.ts'
import { ModelgateError, UsageError } from '../errors.ts'

/**
 * Refuses what cannot be sent as a bearer token. The message says what is wrong and where, never the key.
 * @throws UsageError `key_invalid`; ModelgateError `key_missing` (exit 3) for an empty one, as of a secret that did not arrive
 */
export function checkKey(key: string, source: string): void {
  if (key === '') {
    throw new ModelgateError('key', 'key_missing', `The API key (${source}) is empty.`, {
      phase: 'config',
      billed: 'no',
      hint: 'Set it there, or remove what names it. With --sandbox no key is needed.',
    })
  }
  const problem = problemOf(key)
  if (problem === undefined) return
  throw new UsageError(`The API key (${source}) ${problem}.`, {
    phase: 'config',
    code: 'key_invalid',
    hint: 'Give the key alone, in one line, as the gateway issued it. It has not been sent.',
  })
}

function problemOf(key: string): string | undefined {
  if (key.length > maxKeyBytes) return `is longer than ${maxKeyBytes} characters`
  if (/[\r\n]/.test(key)) return 'contains a newline'
  if (/\s/.test(key)) return 'contains white space'
  if (/[\u0000-\u001f\u007f]/.test(key)) return 'contains a control character'
  if (/[^\u0021-\u007e]/.test(key)) return 'contains a character that is not ASCII'
  return undefined
}
