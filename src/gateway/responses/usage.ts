import type { Usage } from '../../events/text.ts'
import { countOf, isObject, objectOf } from '../../json.ts'

/** The usage of a response object in the program's own names; null when the gateway did not say. */
export function readResponseUsage(value: unknown): Usage | null {
  if (!isObject(value)) return null
  return {
    input_tokens: countOf(value['input_tokens']),
    cached_tokens: countOf(objectOf(value['input_tokens_details'])['cached_tokens']),
    output_tokens: countOf(value['output_tokens']),
    reasoning_tokens: countOf(objectOf(value['output_tokens_details'])['reasoning_tokens']),
    total_tokens: countOf(value['total_tokens']),
  }
}
