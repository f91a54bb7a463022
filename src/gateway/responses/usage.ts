import type { Usage } from '../../contract/text-event.ts'
import { isObject, numberOf, objectOf } from '../json-access.ts'

/** The usage of a response object in the program's own names; null when the gateway did not tell. */
export function readResponseUsage(value: unknown): Usage | null {
  if (!isObject(value)) return null
  return {
    input_tokens: numberOf(value['input_tokens']),
    cached_tokens: numberOf(objectOf(value['input_tokens_details'])['cached_tokens']),
    output_tokens: numberOf(value['output_tokens']),
    reasoning_tokens: numberOf(objectOf(value['output_tokens_details'])['reasoning_tokens']),
    total_tokens: numberOf(value['total_tokens']),
  }
}
