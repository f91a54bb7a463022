import type { Cost } from '../../cost/estimate.ts'
import type { Instance } from '../manifest/manifest.ts'
import type { Assessment, State } from './assessment.ts'

/** What a run of some instances comes to, before anything is done. */
export interface Plan {
  /** By their ids, each behind those that it refers to. */
  readonly assessments: ReadonlyMap<string, Assessment>
  readonly states: Readonly<Record<State, number>>
  /** How many results are to be created: those of identical keys once, and those of pending instances as well. */
  readonly creates: number
  /** What that is estimated to cost; null without prices. */
  readonly cost: Cost | null
  /** Locked ids that no instance of the manifest has or takes over, in the order of the lock. */
  readonly orphans: readonly string[]
}

/** How much one request of an instance creates, and what that is estimated to cost; null without prices. */
export type EstimateRequest = (instance: Instance) => { readonly creates: number; readonly cost: Cost | null }
