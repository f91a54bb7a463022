import { responseStates, type ResponseState } from './response-object.ts'

/** The states of a video (specification, "States and transitions"). */
export const videoStates = ['pending', 'in_progress', 'completed', 'failed'] as const
export type VideoState = (typeof videoStates)[number]

export const jobStates: readonly (VideoState | ResponseState)[] = [
  ...new Set([...videoStates, ...responseStates]),
]

/** What gateways and relays send for each state, in lower case with underscores (quirk 18). */
const words: Readonly<Record<VideoState, string>> = {
  pending: 'pending queued submitted not_start not_started created accepted waiting scheduled',
  in_progress: 'in_progress inprogress processing running started generating rendering active',
  completed: 'completed complete succeeded succeed success successful done finished',
  failed: 'failed failure fail error cancelled canceled expired rejected blocked aborted timeout',
}

/** In any letter case; an unknown name means a running job (fault F2). */
export function videoStateOf(word: string): VideoState | undefined {
  const name = normaliseState(word)
  return videoStates.find((state) => words[state].split(' ').includes(name))
}

/** Without letter case, blanks, and the prefix of an enumeration. */
export function normaliseState(word: string): string {
  return word
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, '_')
    .replace(/^.*status_|^.*state_/, '')
}

const finalStates: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled', 'incomplete'])

export function isFinal(state: string): boolean {
  return finalStates.has(state)
}

/** It identifies an operation, whose name is path-like (specification). The id of a video has no slash. */
export function lastSegment(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1)
}
