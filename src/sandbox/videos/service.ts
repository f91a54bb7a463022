import type { Exchange, Sandbox } from '../sandbox.ts'
import { seededHex } from '../seeded-random.ts'
import type { JobState } from './job-state.ts'
import type { VideoJob } from './video-job.ts'

/** Repeatable hexadecimal digits for the id of a new job. */
export function newId(length: number, { number, sandbox: { seed, videoJobs } }: Exchange): string {
  return seededHex(length, seed, 'video', number, videoJobs.idSalt())
}

/** Adds a job, which is queued immediately. */
export async function startJob(
  job: Omit<VideoJob, 'createdAt' | 'pendingMs' | 'runningMs'>,
  { videoJobs, pacing, clock }: Sandbox,
): Promise<VideoJob> {
  const { pendingMs, runningMs } = pacing
  const started = { ...job, createdAt: clock.now(), pendingMs, runningMs }
  await videoJobs.add(started)
  return started
}

/** When to poll a running job again, in the headers that the clients of either service read. */
export function pollHint({ kind }: VideoJob, { pacing }: Sandbox): Readonly<Record<string, string>> {
  return { [kind === 'video' ? 'openai-poll-after-ms' : 'retry-after-ms']: String(pacing.pollMs) }
}

/** The headers for the look-up of a running job; none for one that has ended. */
export function lookUpFacts(job: VideoJob, { state }: JobState, sandbox: Sandbox) {
  if (state !== 'pending' && state !== 'in_progress') return {}
  return { headers: pollHint(job, sandbox), status: job.scenario === 'accepted' ? 202 : 200 }
}
