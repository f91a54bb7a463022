import { videoStates } from '../contract/video-state.ts'
import { responseStates } from '../contract/response-object.ts'

import {
  anything,
  count,
  countOrNull,
  define,
  flag,
  integerOrNull,
  list,
  numberOrNull,
  object,
  oneOf,
  orNull,
  seconds,
  secondsOrNull,
  text,
  textOrNull,
  texts,
  version,
  type EventsOf,
  type Infer,
} from './fields.ts'
import { cost } from './cost.ts'
import { failureFields, mismatches, savedFileFields, verified, warnings } from './text.ts'

/** The kind of a job: a Video (endpoints 3 and 5) or an operation (endpoint 7). */
export type JobKind = Infer<typeof kind>
const kind = oneOf(['video', 'operation'], 'what the job is on the gateway')

const id = text('id of the video or name of the operation')
const state = oneOf(videoStates, 'state of the job')
/** The same of events, which a background response has, too. */
const jobId = text('id of the video or the response, or name of the operation')
const jobKind = oneOf(['video', 'operation', 'response', 'image'], 'what the job is on the gateway')
const jobStates = [...new Set([...videoStates, ...responseStates])]
const jobState = oneOf(jobStates, 'state of the job')
const knownState = oneOf([...videoStates, 'unknown'], 'last known state')
const reason = {
  code: text('a stable word for the reason'),
  message: text('the reason'),
}
const status = textOrNull("the gateway's own word for the state")
const progress = numberOrNull('progress in percent, 0 to 100')
const completedAt = countOrNull('when it ended, or when that was first seen, in Unix seconds')
const expiresAt = countOrNull('until when the result is kept, in Unix seconds')

/** A video that was saved and checked. */
export type SavedVideo = Infer<typeof video.schema>
const video = define(
  'video',
  object({
    ...savedFileFields,
    format: text('mp4, mov, webm, mkv, avi, mpg, ts, ogv or bin, from its bytes'),
    width: countOrNull('in pixels; null when the file does not say'),
    height: countOrNull('in pixels; null when the file does not say'),
    seconds: numberOrNull('how long it plays; null when the file does not say'),
    verified,
  }),
)

/** One of several videos that could not be saved. */
export type VideoFailure = Infer<typeof videoFailure.schema>
const videoFailure = define('video_failure', object(failureFields('video')))

/** What is recorded of a job that this machine started; the lines of `jobs`. */
export type JobSummary = Infer<typeof job.schema>
const job = define(
  'job',
  object({
    id: textOrNull(
      "id of the video or the response, or name of the operation; null when the gateway's reply never arrived",
    ),
    kind: jobKind,
    state: oneOf([...jobStates, 'unknown'], 'last known state'),
    status,
    progress,
    model: text('the requested model'),
    prompt: text('the prompt of the request'),
    base_url: text('address of the gateway'),
    is_sandbox: flag('whether it is the built-in local gateway'),
    idempotency_key: text('idempotency key of the request'),
    created_at: count('when it was requested, in Unix seconds'),
    checked_at: countOrNull('when it was last looked up, in Unix seconds'),
    completed_at: completedAt,
    expires_at: expiresAt,
    files: texts('where its videos were saved'),
  }),
)

/** Events while a job runs and its result is saved. Videos of a job are numbered from 1. */
export type VideoEvent = EventsOf<typeof videoEvents>
export const videoEvents = {
  /** The gateway has accepted the job, and it is recorded on this machine. */
  'job-create': {
    id: jobId,
    kind: jobKind,
  },
  /** A look-up, even if nothing has changed. */
  'job-progress': {
    id: jobId,
    state: jobState,
    status,
    progress,
    elapsed_s: seconds('seconds that the job has been running, as far as is known'),
    remaining_s: secondsOrNull(
      'seconds that are left, from the progress since the job was first seen under way',
    ),
  },
  /** A failed look-up; the job itself may be fine. */
  'poll-fail': {
    id: jobId,
    attempt: count('failed look-ups in a row'),
    wait_s: seconds('seconds until the next'),
    http_status: integerOrNull('status of the reply, if there was one'),
    reason: text('why'),
  },
  'download-progress': {
    id,
    index: count('number of the video'),
    received: count('bytes that have arrived'),
    total: countOrNull('bytes in all, where the server says'),
  },
  'video-save': { id, index: count('number of the video'), file: video.reference },
  'video-fail': { id, failure: videoFailure.reference },
  /** One of several jobs that came to nothing, or not to all of its videos. */
  'job-fail': { id, ...reason },
  /** A job of `jobs`. */
  'job-list': { job: job.reference },
}

const outcomeFields = {
  model: textOrNull('the requested model, if known'),
  id,
  kind,
  status,
  progress,
  seconds: textOrNull('how long the video plays, as the gateway says'),
  size: textOrNull('width and height, as the gateway says'),
  remixed_from_video_id: textOrNull('id of the video that a remix started from'),
  created_at: countOrNull('when the job was created, in Unix seconds'),
  completed_at: completedAt,
  expires_at: expiresAt,
  video: anything("the gateway's own object of a video, as received; null for an operation"),
  operation: anything("the gateway's own object of an operation, as received; null for a video"),
  files: list(video.reference, 'videos that were saved'),
  failures: list(videoFailure.reference, 'videos that could not be saved'),
  mismatches,
  request_id: textOrNull('id of the request'),
  warnings,
}

/** The document of `video generate`, `remix` and `status`, and of `wait` for one of them. */
export type VideoDocument = Infer<typeof videoDocument>
export const videoDocument = object({
  version,
  command: oneOf(['video generate', 'video remix', 'video status', 'wait'], 'the command that ran'),
  ...outcomeFields,
  cost,
  state,
})

/** One of several jobs that were waited for. */
export type AwaitedVideo = Infer<typeof awaitedVideo.schema>
const awaitedVideo = define(
  'awaited_video',
  object({
    ...outcomeFields,
    state: knownState,
    error: orNull(object(reason), 'why it came to nothing, or not to all of its videos'),
  }),
)

/** The document of `wait` for several video jobs. */
export type VideosDocument = Infer<typeof videosDocument>
export const videosDocument = object({
  version,
  command: oneOf(['wait'], 'the command that ran'),
  videos: list(awaitedVideo.reference, 'the jobs, in the order in which they were given'),
  warnings,
})

export const videoDefinitions = [video, videoFailure, job, awaitedVideo] as const

/** The document of `jobs`. */
export type JobListDocument = Infer<typeof jobListDocument>
export const jobListDocument = object({
  version,
  command: oneOf(['jobs'], 'the command that ran'),
  jobs: list(job.reference, 'jobs that this machine has started'),
  warnings,
})
