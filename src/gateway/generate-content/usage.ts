import type { Usage } from '../../contract/text-event.ts'
import { countOf, isObject } from '../json-access.ts'

/** `usageMetadata` in the program's own names; null when the gateway did not tell. */
export function readContentUsage(value: unknown): Usage | null {
  if (!isObject(value)) return null
  const candidates = countOf(value['candidatesTokenCount'])
  const thoughts = countOf(value['thoughtsTokenCount'])
  return {
    input_tokens: countOf(value['promptTokenCount']),
    cached_tokens: countOf(value['cachedContentTokenCount']),
    // Thoughts are not inside candidatesTokenCount (recorded: 7 + 51 + 45 = 103).
    output_tokens: candidates === null && thoughts === null ? null : (candidates ?? 0) + (thoughts ?? 0),
    reasoning_tokens: thoughts,
    total_tokens: countOf(value['totalTokenCount']),
  }
}
