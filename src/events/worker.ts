import * as f from './fields.ts'
import { failureFields } from './run-document.ts'
import { warnings } from './text.ts'

const lane = f.oneOf(['text', 'image', 'video'], 'what kind of result it makes')

const taskFields = {
  instance: f.text('id of the instance'),
  run: f.text('id of the run that wants it'),
  key: f.textMatching('^[0-9a-f]{64}$', 'the key of its request'),
  lane,
  creates: f.count('how many results the request creates'),
}

/** Why a request was not made. */
const taskFailure = f.define('task_failure', f.object(failureFields))

const lanes = f.list(
  f.object({ lane, concurrency: f.count('how many requests at once') }),
  'what it takes, and how many at once',
)
const places = {
  worker: f.text('its name, unique among all workers of the queue'),
  queue: f.text('address of the queue, without user and password'),
  store: f.text('the store that runs and workers share, without secrets'),
  sandbox: f.flag('whether the results come from the sandbox'),
}

/**
 * What became of an attempt. `again`: it is sent again after a wait. `returned`: the worker was stopped, or could not send
 * it, so that another one does.
 */
const outcomes = ['done', 'failed', 'unknown', 'again', 'returned'] as const

export type WorkerEvent = f.EventsOf<typeof workerEvents>
export const workerEvents = {
  /** The first event after `start`. */
  'worker-start': {
    ...places,
    lanes,
    rate: f.textOrNull(
      'how many requests of each lane all workers together send at most, as 20/s; null without a limit',
    ),
  },
  'task-start': { ...taskFields, attempt: f.count('number of the attempt, from 1') },
  'task-end': {
    ...taskFields,
    outcome: f.oneOf(outcomes, 'what became of it'),
    outputs: f.count('how many files were put into the store'),
    bytes: f.count('their size'),
    took_s: f.secondsOrNull('how long it took here; null where that is not known'),
    again_s: f.secondsOrNull('after how long it is sent again; null where it is not'),
    error: f.orNull(taskFailure, 'why it was not made; null if it was'),
  },
}

/** The document of `run worker`. */
export type WorkerDocument = f.Infer<typeof workerDocument>
export const workerDocument = f.document(['run worker'], {
  ...places,
  done: f.count('requests whose results it has put into the store'),
  failed: f.count('requests that have failed'),
  unknown: f.count('requests whose outcome is unknown'),
  created: f.count('how many results were created'),
  took_s: f.seconds('how long it was at work'),
  warnings,
})
