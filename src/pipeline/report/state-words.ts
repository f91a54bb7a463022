import type { State } from '../plan/assessment.ts'

/**
 * What a state asks of the reader: `failed` to look at what went wrong, `decision` to choose, `work` nothing but a run,
 * `done` nothing.
 */
export type Tone = 'failed' | 'decision' | 'work' | 'done'

interface StateWords {
  readonly label: string
  readonly tone: Tone
  /** What it means, for a reader who does not know the word. */
  readonly meaning: string
}

/** In the order in which a report shows them. */
export const stateWords: Readonly<Record<State, StateWords>> = {
  unknown: { label: 'unknown', tone: 'failed', meaning: 'A request was sent, and its outcome was lost.' },
  rejected: { label: 'rejected', tone: 'failed', meaning: 'The result failed its assert.' },
  lost: { label: 'lost', tone: 'failed', meaning: 'The locked file is gone, and no copy is in the store.' },
  changed: {
    label: 'changed by hand',
    tone: 'failed',
    meaning: 'The file differs from the lock.',
  },
  in_the_way: {
    label: 'in the way',
    tone: 'failed',
    meaning: 'A file that is not in the lock is where the output belongs.',
  },
  unfetched: {
    label: 'not fetched',
    tone: 'work',
    meaning: 'It is made and billed; a run fetches it, free, until its address expires.',
  },
  awaiting: { label: 'awaiting', tone: 'decision', meaning: 'There are candidates, and none is picked.' },
  stale: { label: 'stale', tone: 'work', meaning: 'The request has changed since the output was made.' },
  new: { label: 'new', tone: 'work', meaning: 'There is no output yet.' },
  restorable: { label: 'restorable', tone: 'work', meaning: 'The file is gone; a copy is in the store.' },
  blocked: { label: 'blocked', tone: 'work', meaning: 'It waits for another asset.' },
  pending: { label: 'pending', tone: 'work', meaning: 'Another asset is made first.' },
  fresh: { label: 'fresh', tone: 'done', meaning: 'The file matches the lock.' },
}

/** An asset whose last request failed is one to look at, whatever its state. */
export function toneOf(asset: { readonly state: State; readonly failure: object | null }): Tone {
  return asset.failure === null ? stateWords[asset.state].tone : 'failed'
}
