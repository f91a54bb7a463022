import type { VideoState } from './videos.ts'

/** The words that gateways and relays use for each state, in lower case with underscores (quirk 18). */
const words: Readonly<Record<VideoState, readonly string[]>> = {
  pending: [
    'pending',
    'queued',
    'submitted',
    'not_start',
    'not_started',
    'created',
    'accepted',
    'waiting',
    'scheduled',
  ],
  in_progress: [
    'in_progress',
    'inprogress',
    'processing',
    'running',
    'started',
    'generating',
    'rendering',
    'active',
  ],
  completed: ['completed', 'complete', 'succeeded', 'succeed', 'success', 'successful', 'done', 'finished'],
  failed: [
    'failed',
    'failure',
    'fail',
    'error',
    'cancelled',
    'canceled',
    'expired',
    'rejected',
    'blocked',
    'aborted',
    'timeout',
  ],
}

const states = new Map(
  Object.entries(words).flatMap(([state, list]) => list.map((word) => [word, state as VideoState] as const)),
)

/**
 * The state that a gateway's word means, in any letter case; undefined for an unknown word,
 * which means a job that is still running (fault F2).
 */
export function videoStateOf(word: string): VideoState | undefined {
  return states.get(plainWord(word))
}

/** Without what makes no difference: letter case, blanks, and the name of an enumeration before the word. */
function plainWord(word: string): string {
  return word
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, '_')
    .replace(/^.*status_|^.*state_/, '')
}

/** Longer words of a gateway are cut. */
const maxWordLength = 60

/** The gateway's own word for a state, where it is another than the specification's. */
export function otherWord(state: VideoState | 'unknown', word: string | null): string | undefined {
  if (word === null || plainWord(word) === state) return undefined
  // A character that is cut in two would be none.
  return word
    .trim()
    .slice(0, maxWordLength)
    .replace(/[\ud800-\udbff]$/, '')
}

/** What is known of a job's state. */
interface KnownState {
  readonly state: VideoState | 'unknown'
  /** The gateway's own word for it. */
  readonly status?: string | null
  readonly progress?: number | null
}

/**
 * A state as every message shows it: the specification's word, and beside it the progress and what the gateway
 * calls it: `in_progress (45%, gateway says "rendering")`. What could act on a terminal is left to who prints it.
 */
export function stateText({ state, status = null, progress = null }: KnownState): string {
  const word = otherWord(state, status)
  const isUnderWay = state === 'pending' || state === 'in_progress'
  const details = [
    ...(progress === null || !isUnderWay ? [] : [`${progress}%`]),
    ...(word === undefined ? [] : [`gateway says ${JSON.stringify(word)}`]),
  ]
  return details.length === 0 ? state : `${state} (${details.join(', ')})`
}

/** Whether nothing more will happen to a job. */
export function hasEnded(state: VideoState): boolean {
  return state === 'completed' || state === 'failed'
}
