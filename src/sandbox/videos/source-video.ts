import type { VideoJob } from './job.ts'

/** A completed video that is always there, so that a newcomer has something to remix. */
export const sourceVideoId = 'video_sandbox_source'

const completedAt = Date.UTC(2026, 0, 1)

export const sourceVideo: VideoJob = {
  id: sourceVideoId,
  kind: 'video',
  model: 'sandbox-video',
  prompt: 'a paper boat on a calm sea at sunset',
  createdAt: completedAt - 4000,
  pendingMs: 1000,
  runningMs: 3000,
  scenario: null,
  films: [
    {
      prompts: ['a paper boat on a calm sea at sunset'],
      seed: sourceVideoId,
      width: 1280,
      height: 720,
      seconds: 4,
    },
  ],
  remixedFrom: null,
}
