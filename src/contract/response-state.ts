/** The states of a response object (specification, "States and transitions"). */
export const responseStates = [
  'queued',
  'in_progress',
  'completed',
  'incomplete',
  'failed',
  'cancelled',
] as const
export type ResponseState = (typeof responseStates)[number]

/** Other names of the states that gateways were seen to send, in lower case. */
const otherNames: Readonly<Record<string, ResponseState>> = { complete: 'completed', canceled: 'cancelled' }

/** The state that a gateway's name means; undefined for an unknown name, which means a running response (fault F2). */
export function responseStateOf(word: string): ResponseState | undefined {
  const name = word.trim().toLowerCase()
  return responseStates.find((state) => state === name) ?? otherNames[name]
}
