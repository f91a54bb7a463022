import type { ServerContext } from '../http/handle-request.ts'
import type { SandboxRequest } from '../request.ts'
import { seededHex } from '../seeded-random.ts'
import type { VideoJob } from './video-job.ts'
import { pacingOf } from '../job-pacing.ts'
import type { JobState } from './job-state.ts'
import { createFilmCache } from './film/draw-film.ts'
import { createJobStore } from './video-job-store.ts'

export type VideoService = ReturnType<typeof createVideoService>

/**
 * The state shared by the video endpoints of a sandbox.
 * @param folder where jobs are kept; undefined for memory
 */
export function createVideoService(server: ServerContext, folder: string | undefined) {
  const jobs = createJobStore(server, folder)
  return { ...server, jobs, served: createFilmCache(), pacing: pacingOf(server.latency) }
}

/** Repeatable hexadecimal digits for the id of a new job. */
export function newId(length: number, { number }: SandboxRequest, { seed, jobs }: VideoService): string {
  return seededHex(length, seed, 'video', number, jobs.idSalt())
}

/** Adds a job, which is queued immediately. */
export async function startJob(
  job: Omit<VideoJob, 'createdAt' | 'pendingMs' | 'runningMs'>,
  { jobs, pacing, clock }: VideoService,
): Promise<VideoJob> {
  const { pendingMs, runningMs } = pacing
  const started = { ...job, createdAt: clock.now(), pendingMs, runningMs }
  await jobs.add(started)
  return started
}

/** When to poll a running job again, in the headers that the clients of either service read. */
export function pollHint({ kind }: VideoJob, { pacing }: VideoService): Readonly<Record<string, string>> {
  return { [kind === 'video' ? 'openai-poll-after-ms' : 'retry-after-ms']: String(pacing.pollMs) }
}

/** The headers for the look-up of a running job; none for one that has ended. */
export function lookUpFacts(job: VideoJob, { state }: JobState, service: VideoService) {
  if (state !== 'pending' && state !== 'in_progress') return {}
  return { headers: pollHint(job, service), status: job.scenario === 'accepted' ? 202 : 200 }
}
