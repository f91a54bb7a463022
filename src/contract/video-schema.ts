import {
  anything,
  count,
  countOrNull,
  list,
  object,
  savedFileFields,
  text,
  textOrNull,
  verified,
  type JsonSchema,
} from './json-schema.ts'
import { outputVersion } from './output-event.ts'
import type {
  JobListDocument,
  JobSummary,
  SavedVideo,
  VideoDocument,
  VideoEvent,
  VideoFailure,
} from './video-event.ts'
import { videoStates } from './videos.ts'

const kind: JsonSchema = { enum: ['video', 'operation'], description: 'what the job is on the gateway' }
const state: JsonSchema = { enum: videoStates, description: 'state of the job' }
const status = textOrNull("the gateway's own word for the state")
const progress = numberOrNull('how much is done, 0 to 100')
const expiresAt = countOrNull('until when the result is kept, in Unix seconds')

function numberOrNull(description: string): JsonSchema {
  return { type: ['number', 'null'], description }
}

function seconds(description: string): JsonSchema {
  return { type: 'number', minimum: 0, description }
}

/** Definitions that the documents and events of video commands refer to. */
export const videoDefinitions = {
  video: object<SavedVideo>({
    ...savedFileFields,
    format: text('mp4, mov, webm, mkv or avi, from its bytes'),
    width: countOrNull('in pixels; null when the file does not tell'),
    height: countOrNull('in pixels; null when the file does not tell'),
    seconds: numberOrNull('how long it plays; null when the file does not tell'),
    verified,
  }),
  video_failure: object<VideoFailure>({
    index: count('number of the video'),
    code: text('a stable word'),
    message: text('what went wrong'),
    rescued: textOrNull('where it is instead, when it came and could not be written where it belongs'),
  }),
  job: object<JobSummary>({
    id: textOrNull("id of the video or name of the operation; null when the gateway's reply never came"),
    kind,
    state: { enum: [...videoStates, 'unknown'], description: 'last known state' },
    status,
    progress,
    model: text('the model that was asked'),
    prompt: text('what was asked for'),
    base_url: text('address of the gateway'),
    is_sandbox: { type: 'boolean', description: 'whether it is the built-in local gateway' },
    idempotency_key: text('key under which the job was asked for'),
    created_at: count('when it was asked for, in Unix seconds'),
    checked_at: countOrNull('when it was last looked up, in Unix seconds'),
    expires_at: expiresAt,
    files: list({ type: 'string' }, 'where its videos were saved'),
  }),
} as const

const reference = (name: keyof typeof videoDefinitions): JsonSchema => ({ $ref: `#/$defs/${name}` })

export const videoDocumentProperties: Readonly<Record<keyof VideoDocument, JsonSchema>> = {
  version: { const: outputVersion, description: 'version of this description' },
  command: text('the command that ran'),
  model: textOrNull('the model that was asked, where it is known'),
  id: text('id of the video or name of the operation'),
  kind,
  state,
  status,
  progress,
  expires_at: expiresAt,
  video: anything("the gateway's own object of a video, as it came; null for an operation"),
  operation: anything("the gateway's own object of an operation, as it came; null for a video"),
  files: list(reference('video'), 'videos that were saved'),
  failures: list(reference('video_failure'), 'videos that could not be had'),
  request_id: textOrNull('id of the request'),
  warnings: list({ type: 'string' }, 'what was odd'),
}

export const jobListProperties: Readonly<Record<keyof JobListDocument, JsonSchema>> = {
  version: { const: outputVersion, description: 'version of this description' },
  command: text('the command that ran'),
  jobs: list(reference('job'), 'jobs that this machine has started'),
  warnings: list({ type: 'string' }, 'what was odd'),
}

type EventFields<Type extends VideoEvent['type']> = Omit<Extract<VideoEvent, { type: Type }>, 'type'>

/** Every event of the video commands, with every field: the compiler compares both with `VideoEvent`. */
export const videoEventFields: {
  readonly [Type in VideoEvent['type']]: Readonly<Record<keyof EventFields<Type>, JsonSchema>>
} = {
  'job-create': { id: text('id of the video or name of the operation'), kind },
  'job-progress': {
    id: text('id of the video or name of the operation'),
    state,
    status,
    progress,
    elapsed_s: seconds('seconds that the job has been running, as far as is known'),
    remaining_s: {
      type: ['number', 'null'],
      minimum: 0,
      description: 'seconds that are left, from the progress since the job was first seen under way',
    },
  },
  'poll-fail': {
    id: text('id of the video or name of the operation'),
    attempt: count('failed look-ups in a row'),
    wait_s: seconds('seconds until the next'),
    http_status: { type: ['integer', 'null'], description: 'status of the reply, if there was one' },
    reason: text('why'),
  },
  'download-progress': {
    index: count('number of the video'),
    received: count('bytes that have come'),
    total: countOrNull('bytes in all, where the server tells'),
  },
  'video-save': { index: count('number of the video'), file: reference('video') },
  'video-fail': { failure: reference('video_failure') },
  'job-list': { job: reference('job') },
}
