import { getState, saveState } from '@actions/core'
import type { Words } from './programs.ts'
import type { StoreCache } from './store-cache.ts'

/** What the step at the end of the job has to know of this one, however this one ends. */
export interface State {
  readonly program: Words
  /** `.modelgate`, absolute; null where it is not known. */
  readonly folder: string | null
  /** What is saved; null for nothing. */
  readonly save: StoreCache | null
  /** What was there before the run. */
  readonly fingerprint: string
  /** Whether the contact sheet is still to be made. */
  readonly isUnpublished: boolean
}

/** The last one counts. */
export function keepState(state: State): void {
  saveState('modelgate', JSON.stringify(state))
}

/** Undefined where nothing was run. */
export function keptState(): State | undefined {
  const text = getState('modelgate')
  return text === '' ? undefined : (JSON.parse(text) as State)
}
