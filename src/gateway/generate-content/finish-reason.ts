import type { FinishReason } from '../../contract/text-event.ts'

/** finishReason values in use (wire facts, section 1, Enums) in the program's own vocabulary. */
const reasons: Readonly<Record<string, FinishReason>> = {
  STOP: 'stop',
  MAX_TOKENS: 'length',
  SAFETY: 'content_filter',
  RECITATION: 'content_filter',
  BLOCKLIST: 'content_filter',
  PROHIBITED_CONTENT: 'content_filter',
  SPII: 'content_filter',
  IMAGE_SAFETY: 'content_filter',
  IMAGE_PROHIBITED_CONTENT: 'content_filter',
  IMAGE_RECITATION: 'content_filter',
  MODEL_ARMOR: 'content_filter',
  LANGUAGE: 'other',
  OTHER: 'other',
  MALFORMED_FUNCTION_CALL: 'error',
  UNEXPECTED_TOOL_CALL: 'error',
  TOO_MANY_TOOL_CALLS: 'error',
  MISSING_THOUGHT_SIGNATURE: 'error',
  MALFORMED_RESPONSE: 'error',
  IMAGE_OTHER: 'other',
  NO_IMAGE: 'other',
}

/** A gateway's word for the end as one of ours; words never seen are `unknown`, which is no failure by itself. */
export function finishReasonOf(raw: string, calledTools: boolean): FinishReason {
  const reason = Object.hasOwn(reasons, raw) ? reasons[raw]! : 'unknown'
  return reason === 'stop' && calledTools ? 'tool_calls' : reason
}
