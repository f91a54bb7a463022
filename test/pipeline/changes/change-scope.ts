import type { ChangeScope } from '../../../src/pipeline/changes/change-project.ts'
import type { SampleWorld } from '../plan/sample-world.ts'

/** What a change of a sample works on. */
export function scopeOf(sample: SampleWorld, history = sample.history): ChangeScope {
  const next = (...words: string[]) => ['modelgate', 'run', ...words, '--sandbox']
  return { context: sample.context, project: sample.world({ history }), next }
}
