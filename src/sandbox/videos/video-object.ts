import { sizeWord } from './film-plan.ts'
import { sourceVideoId } from './source-video.ts'
import type { VideoJob } from './job.ts'
import { standingOf } from './timeline.ts'
import { videoLifetimeMinutes } from '../../contract/video-create.ts'

/** Words of other gateways for the states (quirk 18). */
const otherWords = {
  pending: 'NOT_START',
  in_progress: 'Processing',
  completed: 'SUCCESS',
  failed: 'FAILURE',
}

/** The Video object: every field of the specification, times and error null until they are set. */
export function videoObject(job: VideoJob, now: number): object {
  const { id, model, prompt, films, scenario, remixedFrom } = job
  const { state, progress, completedAt, expiresAt } = standingOf(job, now)
  const film = films[0]!
  const isOver = state === 'completed' || state === 'failed'
  return {
    id,
    object: 'video',
    created_at: unixSeconds(job.createdAt),
    completed_at: completedAt === undefined ? null : unixSeconds(completedAt),
    model,
    status: scenario === 'unknown' && state === 'in_progress' ? 'warming_up' : state,
    progress,
    expires_at: expiryOf(id, expiresAt, now),
    prompt,
    seconds: String(film.seconds),
    size: sizeWord(film),
    remixed_from_video_id: remixedFrom,
    error: state === 'failed' ? errorOf(job) : null,
    ...(scenario === 'spelling' && {
      status: otherWords[state],
      progress: `${progress}%`,
      seconds: film.seconds,
      created_at: job.createdAt,
      // Set while running as well: there it is the time of the last change.
      completed_at: isOver ? completedAt : now,
    }),
  }
}

/** The built-in video never expires: its result can be had for another hour at any time. */
function expiryOf(id: string, expiresAt: number | undefined, now: number): number | null {
  if (id === sourceVideoId) return unixSeconds(now) + videoLifetimeMinutes * 60
  return expiresAt === undefined ? null : unixSeconds(expiresAt)
}

function errorOf({ scenario }: VideoJob): object {
  return scenario === 'filtered'
    ? {
        code: 'moderation_blocked',
        message: '[sandbox] The video was withheld by the safety system.',
        type: 'video_generation_user_error',
      }
    : {
        code: 'video_generation_failed',
        message: '[sandbox] The video could not be generated.',
        type: 'server_error',
      }
}

function unixSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000)
}
