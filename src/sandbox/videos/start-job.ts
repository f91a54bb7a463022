import type { Reply } from '../http/reply.ts'
import type { Exchange } from '../sandbox.ts'
import { seededHex } from '../seeded-random.ts'
import { jobStateAt, videoScenarioOf, type Film, type VideoJob } from './video-job.ts'

/**
 * Starts a job, which is queued immediately.
 * @param asked the prompts, which may ask for a scenario
 * @throws RequestProblem 400 in scenarios that reject the request
 */
export async function startJob(
  { sandbox, number, scenario: header }: Exchange,
  job: Pick<VideoJob, 'kind' | 'model' | 'prompt' | 'remixedFrom' | 'films'>,
  asked = job.prompt,
): Promise<VideoJob> {
  const { videoJobs, seed, clock, pacing } = sandbox
  const scenario = videoScenarioOf(header, asked, job.model)
  const digits = seededHex(48, seed, 'video', number, ...videoJobs.salt())
  const id = job.kind === 'video' ? `video_${digits}` : digits.slice(0, 20)
  const { pendingMs, runningMs } = pacing
  const started = { id, ...job, scenario, createdAt: clock.now(), pendingMs, runningMs }
  await videoJobs.keep(started)
  // Removes what is over.
  await videoJobs.list()
  return started
}

/** What determines a film besides its text: all of the request, and how often it came before. */
export function filmSeed({ seed, digest }: Exchange, ...more: readonly number[]): Film['seed'] {
  return JSON.stringify([...seed, digest, ...more])
}

/** When to ask for a job again that is not over, in the headers that the clients of either service read. */
export function pollHint(job: VideoJob, { sandbox }: Exchange): Pick<Reply, 'headers'> {
  const { state } = jobStateAt(job, sandbox.clock.now())
  if (state !== 'pending' && state !== 'in_progress') return { headers: {} }
  const name = job.kind === 'video' ? 'openai-poll-after-ms' : 'retry-after-ms'
  return { headers: { [name]: String(sandbox.pacing.pollMs) } }
}
