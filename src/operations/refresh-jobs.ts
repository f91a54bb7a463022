import { isFinal } from '../contract/video-state.ts'
import { asModelgateError } from '../errors.ts'
import type { StoredJob } from '../files/calls/job-store.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { lookUpResponse } from '../gateway/responses/background.ts'
import { lookUpJob } from '../gateway/videos/look-up-job.ts'
import { changeOf as responseChange } from './background-response.ts'
import { changeOf } from './video-run.ts'

/** The jobs that have not ended, by their gateway and the profile of its settings; the newest first. */
export function jobsToRefresh(
  jobs: readonly StoredJob[],
): readonly (readonly [StoredJob, ...(readonly StoredJob[])])[] {
  const open = jobs.filter(({ record: { id, state } }) => id !== null && !isFinal(state))
  const groups = Map.groupBy(open, ({ record }) =>
    record.is_sandbox ? '' : JSON.stringify([record.profile, URL.parse(record.base_url)?.origin]),
  )
  return [...groups.values()].map(([first, ...others]) => [first!, ...others])
}

/** How many jobs are looked up concurrently. */
const atOnce = 4

/**
 * Looks up jobs and updates their records.
 * @returns a warning for each look-up that failed
 * @throws the reason of the signal
 */
export async function refreshJobs(gateway: Gateway, jobs: readonly StoredJob[]): Promise<string[]> {
  const warnings: string[] = []
  const rest = jobs.values()
  const refresh = async (job: StoredJob) => {
    const { kind } = job.record
    const id = job.record.id!
    try {
      await job.update(
        kind === 'video' || kind === 'operation'
          ? changeOf(await lookUpJob(gateway, { id, kind }))
          : responseChange(await lookUpResponse(gateway, id)),
      )
    } catch (error) {
      if (gateway.signal.aborted) throw error
      warnings.push(`${id}: ${asModelgateError(error, gateway.trace !== undefined).message}`)
    }
  }
  const work = async () => {
    for (const job of rest) await refresh(job)
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return warnings
}
