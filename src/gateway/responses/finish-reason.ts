import type { FinishReason } from '../../contract/text-event.ts'

/** What is known of a response when it has ended, or has not. */
export interface ResponseEnd {
  readonly failed: boolean
  readonly ended: boolean
  /** `status` of the response object. */
  readonly status: string | undefined
  /** `incomplete_details.reason`, else the status. */
  readonly reason: string | null
  readonly refusedOnly: boolean
  readonly calledTools: boolean
}

/** Why a response ended, from its status (specification, "States and transitions") in the program's own vocabulary. */
export function responseFinishReason(end: ResponseEnd): FinishReason {
  const { status } = end
  if (end.failed) return 'error'
  if (!end.ended) return 'unknown'
  if (status === 'cancelled') return 'cancelled'
  if (status === 'incomplete') return end.reason === 'content_filter' ? 'content_filter' : 'length'
  if (end.refusedOnly) return 'refusal'
  // `complete` was recorded, too.
  if (status !== 'completed' && status !== 'complete' && status !== undefined) return 'unknown'
  return end.calledTools ? 'tool_calls' : 'stop'
}
