import { responseStates, type ResponseState } from './response-object.ts'

/** The states of a video (specification, "States and transitions"). */
export const videoStates = ['pending', 'in_progress', 'completed', 'failed'] as const
export type VideoState = (typeof videoStates)[number]

/** The states of every kind of remote job: a video, an operation, a background response. */
export const jobStates: readonly (VideoState | ResponseState)[] = [
  ...new Set([...videoStates, ...responseStates]),
]

/** Names that gateways and relays use for each state, in lower case with underscores (quirk 18). */
const words: Readonly<Record<VideoState, string>> = {
  pending: 'pending queued submitted not_start not_started created accepted waiting scheduled',
  in_progress: 'in_progress inprogress processing running started generating rendering active',
  completed: 'completed complete succeeded succeed success successful done finished',
  failed: 'failed failure fail error cancelled canceled expired rejected blocked aborted timeout',
}

/**
 * The state that a gateway's name means, in any letter case; undefined for an unknown name, which means a running job
 * (fault F2).
 */
export function videoStateOf(word: string): VideoState | undefined {
  const name = normaliseState(word)
  return videoStates.find((state) => words[state].split(' ').includes(name))
}

/** Removes what makes no difference: letter case, blanks, and the prefix of an enumeration. */
export function normaliseState(word: string): string {
  return word
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, '_')
    .replace(/^.*status_|^.*state_/, '')
}

/** The final states of videos, operations and background responses. */
const finalStates: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled', 'incomplete'])

export function isFinal(state: string): boolean {
  return finalStates.has(state)
}

/**
 * The last part of the name of an operation, which is a path-like string (specification, "Video generation operation"):
 * it identifies the operation. The id of a video is returned as it is.
 */
export function lastSegment(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1)
}
