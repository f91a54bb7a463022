import { lastSegment } from '../../contract/last-segment.ts'
import { UsageError } from '../../errors.ts'
import type { StoredJob } from './stored-job.ts'

/** A shorter beginning is more likely a slip than an id. */
const shortestPrefix = 4

/** So many ids are named when several fit. */
const mostCandidates = 10

/**
 * The job that a user means by an id, an operation's name, the last part of one, or the beginning of either; or by its
 * idempotency key, which is all that is known of some.
 * @param jobs newest first; of several with the same id the first is taken
 * @throws UsageError `ambiguous_id`
 */
export function findJob(jobs: readonly StoredJob[], text: string): StoredJob | undefined {
  const key = text.replace(/^key:/, '')
  const keyed = jobs.find(({ record }) => record.idempotency_key === key)
  if (keyed !== undefined) return keyed
  const known = jobs.flatMap((job) => (job.record.id === null ? [] : [{ job, id: job.record.id }]))
  const exact =
    known.find(({ id }) => id === text) ?? known.find(({ id }) => text !== '' && lastSegment(id) === text)
  if (exact !== undefined || text.length < shortestPrefix) return exact?.job
  const fitting = known.filter(({ id }) => id.startsWith(text) || lastSegment(id).startsWith(text))
  const ids = [...new Set(fitting.map(({ id }) => id))]
  if (ids.length > 1) throw ambiguous(text, ids)
  return fitting[0]?.job
}

function ambiguous(text: string, ids: readonly string[]): UsageError {
  const more = ids.length > mostCandidates ? [`  and ${ids.length - mostCandidates} more`] : []
  const lines = [...ids.slice(0, mostCandidates).map((id) => `  ${id}`), ...more]
  return new UsageError(`${ids.length} jobs have ids that begin with ${text}:\n${lines.join('\n')}`, {
    code: 'ambiguous_id',
    hint: 'Give more of the id.',
  })
}
