import { jobStates, videoStates } from '../contract/videos.ts'
import * as f from './fields.ts'
import { cost, failureFields, mismatches, savedFileFields, verified } from './text.ts'

export type JobKind = f.Infer<typeof kind>
const kind = f.oneOf(['video', 'operation'], 'what the job is on the gateway')

const id = f.text('id of the video or name of the operation')
/** Those of a background response, too. */
const jobId = f.text('id of the video or the response, or name of the operation')
const jobKind = f.oneOf(['video', 'operation', 'response', 'image'], 'what the job is on the gateway')
const reason = {
  code: f.text('a stable word for the reason'),
  message: f.text('the reason'),
}
const status = f.textOrNull("the gateway's own word for the state")
const progress = f.numberOrNull('progress in percent, 0 to 100')
const completedAt = f.countOrNull('when it ended, or when that was first seen, in Unix seconds')
const expiresAt = f.countOrNull('until when the result is kept, in Unix seconds')

export type SavedVideo = f.Infer<typeof video>
const video = f.shape('video', {
  ...savedFileFields,
  format: f.text('mp4, mov, webm, mkv, avi, mpg, ts, ogv or bin, from its bytes'),
  width: f.countOrNull('in pixels; null when the file does not say'),
  height: f.countOrNull('in pixels; null when the file does not say'),
  seconds: f.numberOrNull('how long it plays; null when the file does not say'),
  verified,
})

const videoFailure = f.shape('video_failure', failureFields('video'))

/** What is recorded of a job that this machine started; the lines of `jobs`. */
export type JobSummary = f.Infer<typeof job>
const job = f.shape('job', {
  id: f.textOrNull(
    "id of the video or the response, or name of the operation; null when the gateway's reply never arrived",
  ),
  kind: jobKind,
  state: f.oneOf([...jobStates, 'unknown'], 'last known state'),
  status,
  progress,
  model: f.text('the requested model'),
  prompt: f.text('the prompt of the request'),
  base_url: f.text('address of the gateway'),
  is_sandbox: f.flag('whether it is the built-in local gateway'),
  idempotency_key: f.text('idempotency key of the request'),
  created_at: f.count('when it was requested, in Unix seconds'),
  checked_at: f.countOrNull('when it was last looked up, in Unix seconds'),
  completed_at: completedAt,
  expires_at: expiresAt,
  files: f.texts('where its videos were saved'),
})

/** Events while a job runs and its result is saved. Videos of a job are numbered from 1. */
export type VideoEvent = f.EventsOf<typeof videoEvents>
export const videoEvents = {
  /** The gateway has accepted the job, and it is recorded on this machine. */
  'job-create': {
    id: jobId,
    kind: jobKind,
  },
  /** A look-up, even if nothing has changed. */
  'job-progress': {
    id: jobId,
    state: f.oneOf(jobStates, 'state of the job'),
    status,
    progress,
    elapsed_s: f.seconds('seconds that the job has been running, as far as is known'),
    remaining_s: f.secondsOrNull(
      'seconds that are left, from the progress since the job was first seen under way',
    ),
  },
  /** A failed look-up; the job itself may be fine. */
  'poll-fail': {
    id: jobId,
    attempt: f.count('failed look-ups in a row'),
    wait_s: f.seconds('seconds until the next'),
    http_status: f.integerOrNull('status of the reply, if there was one'),
    reason: f.text('why'),
  },
  'download-progress': {
    id,
    index: f.count('number of the video'),
    received: f.count('bytes that have arrived'),
    total: f.countOrNull('bytes in all, where the server says'),
  },
  'video-save': { id, index: f.count('number of the video'), file: video },
  'video-fail': { id, failure: videoFailure },
  /** One of several jobs that came to nothing, or not to all of its videos. */
  'job-fail': { id, ...reason },
  'job-list': { job: job },
}

const outcomeFields = {
  model: f.textOrNull('the requested model, if known'),
  id,
  kind,
  status,
  progress,
  seconds: f.textOrNull('how long the video plays, as the gateway says'),
  size: f.textOrNull('width and height, as the gateway says'),
  remixed_from_video_id: f.textOrNull('id of the video that a remix started from'),
  created_at: f.countOrNull('when the job was created, in Unix seconds'),
  completed_at: completedAt,
  expires_at: expiresAt,
  video: f.anything("the gateway's own object of a video, as received; null for an operation"),
  operation: f.anything("the gateway's own object of an operation, as received; null for a video"),
  files: f.list('videos that were saved', video),
  failures: f.list('videos that could not be saved', videoFailure),
  mismatches,
  request_id: f.textOrNull('id of the request'),
  warnings: f.warnings,
}

export type VideoDocument = f.Infer<typeof videoDocument>
export const videoDocument = f.plainDocument(['video generate', 'video remix', 'video status', 'wait'], {
  ...outcomeFields,
  cost,
  state: f.oneOf(videoStates, 'state of the job'),
})

export type AwaitedVideo = f.Infer<typeof awaitedVideo>
const awaitedVideo = f.shape('awaited_video', {
  ...outcomeFields,
  state: f.oneOf([...videoStates, 'unknown'], 'last known state'),
  error: f.orNull('why it came to nothing, or not to all of its videos', f.object(reason)),
})

export type VideosDocument = f.Infer<typeof videosDocument>
export const videosDocument = f.document(['wait'], {
  videos: f.list('the jobs, in the order in which they were given', awaitedVideo),
})

export type JobListDocument = f.Infer<typeof jobListDocument>
export const jobListDocument = f.document(['jobs'], {
  jobs: f.list('jobs that this machine has started', job),
})
