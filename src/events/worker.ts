import {
  count,
  define,
  flag,
  list,
  object,
  oneOf,
  orNull,
  secondsOrNull,
  seconds,
  text,
  textMatching,
  textOrNull,
  version,
  type EventsOf,
  type Infer,
} from './output-schema.ts'
import { failureFields } from './run-document.ts'
import { warnings } from './text.ts'

const lane = oneOf(['text', 'image', 'video'], 'what kind of result it makes')

const taskFields = {
  instance: text('id of the instance'),
  run: text('id of the run that wants it'),
  key: textMatching('^[0-9a-f]{64}$', 'the key of its request'),
  lane,
  creates: count('how many results the request creates'),
}

/** Why a request was not made. */
const taskFailure = define('task_failure', object(failureFields))

const lanes = list(
  object({ lane, concurrency: count('how many requests at once') }),
  'what it takes, and how many at once',
)
const places = {
  worker: text('its name, unique among all workers of the queue'),
  queue: text('address of the queue, without user and password'),
  store: text('the store that runs and workers share, without secrets'),
  sandbox: flag('whether the results come from the sandbox'),
}

/**
 * What became of an attempt. `again`: it is sent again after a wait. `returned`: the worker was stopped, or could not send
 * it, so that another one does.
 */
const outcomes = ['done', 'failed', 'unknown', 'again', 'returned'] as const

export type WorkerEvent = EventsOf<typeof workerEvents>
export const workerEvents = {
  /** The first event after `start`. */
  'worker-start': {
    ...places,
    lanes,
    rate: textOrNull(
      'how many requests of each lane all workers together send at most, as 20/s; null without a limit',
    ),
  },
  'task-start': { ...taskFields, attempt: count('number of the attempt, from 1') },
  'task-end': {
    ...taskFields,
    outcome: oneOf(outcomes, 'what became of it'),
    outputs: count('how many files were put into the store'),
    bytes: count('their size'),
    took_s: secondsOrNull('how long it took here; null where that is not known'),
    again_s: secondsOrNull('after how long it is sent again; null where it is not'),
    error: orNull(taskFailure.reference, 'why it was not made; null if it was'),
  },
}

export const workerDefinitions = [taskFailure] as const

/** The document of `run worker`. */
export type WorkerDocument = Infer<typeof workerDocument>
export const workerDocument = object({
  version,
  command: oneOf(['run worker'], 'the command that ran'),
  ...places,
  done: count('requests whose results it has put into the store'),
  failed: count('requests that have failed'),
  unknown: count('requests whose outcome is unknown'),
  created: count('how many results were created'),
  took_s: seconds('how long it was at work'),
  warnings,
})
