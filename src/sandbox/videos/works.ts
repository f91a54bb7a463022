import type { SandboxRequest, Surroundings } from '../request.ts'
import { seededHex } from '../seeded-random.ts'
import type { FilmShelf } from './film-shelf.ts'
import type { VideoJob } from './job.ts'
import type { JobStore } from './job-store.ts'
import type { Pacing } from './timeline.ts'

/** What the video endpoints of one sandbox share. */
export interface VideoWorks extends Surroundings {
  readonly jobs: JobStore
  readonly films: FilmShelf
  readonly pacing: Pacing
}

/** Repeatable hexadecimal digits for the id of a new job. */
export function newId(length: number, { number }: SandboxRequest, { seed, jobs }: VideoWorks): string {
  return seededHex(length, seed, 'video', number, jobs.idSalt())
}

/** Takes a job in; it begins to wait at once. */
export async function startJob(
  job: Omit<VideoJob, 'createdAt' | 'pendingMs' | 'runningMs'>,
  { jobs, pacing, clock }: VideoWorks,
): Promise<VideoJob> {
  const { pendingMs, runningMs } = pacing
  const started = { ...job, createdAt: clock.now(), pendingMs, runningMs }
  await jobs.add(started)
  return started
}

/** When a job that still runs should be asked for again, as the clients of either service read it. */
export function pollHint({ kind }: VideoJob, { pacing }: VideoWorks): Readonly<Record<string, string>> {
  return { [kind === 'video' ? 'openai-poll-after-ms' : 'retry-after-ms']: String(pacing.pollMs) }
}
