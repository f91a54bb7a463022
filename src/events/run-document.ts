import * as f from './fields.ts'
import { cost, estimate } from './text.ts'

/**
 * What an instance is in comparison with lock, files, store and journals. `unknown`: a request was sent, and nobody knows
 * what became of it. `unfetched`: it is made and billed, and its file could not be fetched yet. `blocked`: it waits for
 * another instance that stands still. `pending`: another one is to be made first, so that its key is not known yet.
 * `adopted`: a person adopted its file, and the request has changed since.
 */
export const runStates = [
  'fresh',
  'restorable',
  'changed',
  'in_the_way',
  'adopted',
  'stale',
  'new',
  'rejected',
  'lost',
  'awaiting',
  'unfetched',
  'unknown',
  'blocked',
  'pending',
] as const
export type RunState = (typeof runStates)[number]

/**
 * What a run did about an instance. `accepted`: a rejected result that is no longer rejected. `kept`: a file that is not as
 * locked, in the way, or adopted, was left alone. `skipped`: it waits for another instance, or the run ended before its turn.
 */
const runActions = [
  'generated',
  'restored',
  'moved',
  'accepted',
  'kept',
  'failed',
  'unfetched',
  'rejected',
  'unknown',
  'awaiting',
  'skipped',
] as const
export type RunAction = (typeof runActions)[number]

export type StateCounts = f.Infer<typeof stateCounts>
export const stateCounts = f.shape(
  'state_counts',
  Object.fromEntries(
    runStates.map((state) => [state, f.count(`instances that are ${state.replaceAll('_', ' ')}`)]),
  ) as Record<RunState, f.Schema<number>>,
)

export function countStates(instances: Iterable<{ readonly state: RunState }>): StateCounts {
  const counts = Object.fromEntries(runStates.map((state) => [state, 0])) as Record<RunState, number>
  for (const { state } of instances) counts[state]++
  return counts
}

export const digest = f.sha256('its SHA-256 in hexadecimal; of a text with LF')

export type RunFile = f.Infer<typeof runFile>
const runFile = f.shape('run_file', {
  path: f.text('where it is, from the working directory'),
  bytes: f.count('its size'),
  sha256: digest,
  mime_type: f.text('its media type'),
  width: f.countOrNull('in pixels; null where it has none'),
  height: f.countOrNull('in pixels; null where it has none'),
  seconds: f.numberOrNull('how long it plays; null where it does not'),
})

export const failureFields = {
  code: f.text('a stable word'),
  exit_code: f.count('the exit code that it leads to alone'),
  billed: f.oneOf(['no', 'maybe', 'yes'], 'whether the request may have cost money'),
  message: f.text('what went wrong'),
}

const instance = f.text('id of the instance')
const lane = f.oneOf(['text', 'image', 'video'], 'with which others it shares the number of requests at once')

const instanceFields = {
  instance,
  job: f.text('the job that it belongs to'),
  at: f.text('where the manifest has that job: file, line and column'),
  command: f.text('the command that makes it'),
  model: f.textOrNull('the requested model; null when the gateway chooses'),
  lane,
  output: f.text('where its output belongs, as the manifest says'),
  state: f.oneOf(runStates, 'what it is now'),
  action: f.orNull(
    'what the run did about it; null where there was nothing to do, or nothing was done',
    f.oneOf(runActions, 'what was done'),
  ),
  key: f.textOrNull('the key of its request; null while that depends on others'),
  reasons: f.texts(
    'why, each a sentence: the fields that changed, the files that differ, the asserts that failed',
  ),
  creates: f.count('how many results it has to have created, or had, in this run'),
  files: f.list('its outputs; where one of several candidates is to be picked, those', runFile),
  placed: f.flag('whether the run put them where they belong; a shard leaves them in its part'),
  took_s: f.secondsOrNull('how long it took in this run; null where nothing was generated'),
  cost,
  error: f.orNull('why it failed; null if it did not', f.shape('run_failure', failureFields)),
}

export type RunInstance = f.Infer<typeof runInstance>
const runInstance = f.shape('run_instance', instanceFields)

export function filesInPlace({ placed, files }: Pick<RunInstance, 'placed' | 'files'>): readonly RunFile[] {
  return placed ? files : []
}

export type RunRemainder = f.Infer<typeof runRemainder>
const runRemainder = f.shape('run_remainder', {
  state: f.oneOf(
    [...runStates, 'failed'],
    'the state that these instances share; failed: what failed in this run',
  ),
  instances: f.texts('their ids'),
  message: f.text('what that means, and what can be done'),
  commands: f.list(
    'the commands that do it, one after the other or one of them, as the message says; empty where there is none',
    f.texts('the words of a command, the program first'),
  ),
})

const creates = f.shape('run_creates', {
  planned: f.count('how many results the rest of the run had, or has, to have created'),
  made: f.count('how many were created, those of earlier processes of the same run included'),
  limit: f.countOrNull('how many may be; null where nothing limits them'),
})

const place = {
  manifest: f.text('the manifest, as its path is shown'),
  folder: f.text('the absolute path of the folder that the outputs are in'),
}
const part = f.textOrNull(
  'the folder that a shard leaves for `run merge`, in which its outputs are; null where they are put in place',
)
const planned = f.orNull(
  'an estimate of what the planned creations cost; null without prices in the configuration',
  estimate,
)

/** Events of a run. Instances for which nothing is to be done are only counted. */
export type RunEvent = f.EventsOf<typeof runEvents>
export const runEvents = {
  /** What is going to be done; the first event after `start`. */
  'plan-make': {
    run: f.textOrNull('id of the run; null where nothing is run'),
    folder: place.folder,
    part,
    instances: f.count('how many instances were chosen'),
    states: stateCounts,
    lanes: f.list('the lanes that have something to do', {
      lane,
      to_make: f.count('how many instances are to be made, or gone on with'),
      concurrency: f.count('how many at once'),
    }),
    creates,
    estimate: planned,
  },
  'instance-start': {
    instance,
    lane,
    variant: f.count('number of the candidate, from 1'),
    attempt: f.count('number of the attempt, from 1'),
    resumed: f.flag('whether it resumes what an earlier process sent'),
  },
  'instance-progress': {
    instance,
    variant: f.count('number of the candidate, from 1'),
    state: f.text('state of the remote job; waiting: for the next attempt, or the end'),
    percent: f.numberOrNull('0 to 100; null where the gateway does not say'),
  },
  /** An instance has come to an end; its other candidates, if any, as well. */
  'instance-end': instanceFields,
  'lane-change': {
    lane,
    concurrency: f.count('how many requests at once from now on'),
    pause_s: f.secondsOrNull('how long nothing is sent; null without a pause'),
    reason: f.text('why'),
  },
  /** The gateway fails again and again: nothing is sent but a probe from time to time. */
  'circuit-change': {
    open: f.flag('whether requests are held back'),
    reason: f.text('why'),
  },
}

export type RunMode = RunDocument['mode']
export type RunDocument = f.Infer<typeof runDocument>
export const runDocument = f.document(['run', 'run merge', 'run pull'], {
  mode: f.oneOf(['run', 'plan', 'check', 'frozen'], 'what was asked for'),
  ...place,
  sandbox: f.flag('whether the results come from the sandbox'),
  run: f.textOrNull('id of the run; null where nothing was run'),
  shard: f.textOrNull('the part that was run, as 2/5; null for the whole'),
  part,
  instances: f.list('the chosen instances, each after those that it needs', runInstance),
  states: stateCounts,
  creates,
  estimate: planned,
  cost,
  orphans: f.texts('ids that the lock has and the manifest does not'),
  left: f.list('what is left to do, the worst first', runRemainder),
})

export type RunChangeDocument = f.Infer<typeof runChangeDocument>
export const runChangeDocument = f.document(['run adopt', 'run pick'], {
  ...place,
  instances: f.list('the instances that were changed', {
    instance,
    variant: f.countOrNull('number of the candidate that was picked; null where there are none'),
    files: f.list('its outputs, as they are locked now', runFile),
  }),
})

export type RunRestoreDocument = f.Infer<typeof runRestoreDocument>
export const runRestoreDocument = f.document(['run restore'], {
  ...place,
  instance,
  versions: f.list('its earlier files, the oldest first', {
    number: f.count('what run restore takes, from 1'),
    time: f.text('when it was put aside, or made'),
    path: f.text('where it belongs, from the working directory'),
    sha256: digest,
    bytes: f.count('its size'),
  }),
  restored: f.countOrNull('number of the one that is the output now; null where they are only listed'),
  adopted: f.textOrNull('who locked what is there, and on which day; null where nobody did'),
})

export type RunPushDocument = f.Infer<typeof runPushDocument>
export const runPushDocument = f.document(['run push'], {
  ...place,
  store: f.text('where the files were put'),
  files: f.list('the outputs that the lock names', {
    instance,
    path: f.text('where the output is, from the working directory'),
    sha256: digest,
    bytes: f.count('its size'),
    state: f.oneOf(
      ['new', 'present', 'missing'],
      'new: it was put there; present: it was there already; missing: its bytes are not on this machine',
    ),
  }),
})

export type RunReportDocument = f.Infer<typeof runReportDocument>
export const runReportDocument = f.document(['run report'], {
  manifest: place.manifest,
  states: stateCounts,
  files: f.list('the reports that were written', {
    path: f.text('where the report is'),
    format: f.oneOf(['html', 'markdown', 'json'], 'its format'),
    bytes: f.count('its size'),
  }),
})

export type RunCleanDocument = f.Infer<typeof runCleanDocument>
export const runCleanDocument = f.document(['run clean'], {
  ...place,
  removed: f.flag('whether they were removed; otherwise they are only listed'),
  items: f.list('what the lock does not name', {
    path: f.text('below the folder, with slashes'),
    kind: f.oneOf(
      ['result', 'replaced', 'output', 'journal'],
      'what it is: an output belongs to an instance that is no longer in the manifest',
    ),
    instance: f.textOrNull('the instance that it was made for, where that is known'),
    bytes: f.count('its size'),
  }),
  bytes: f.count('what they take together'),
})

const taskLane = f.oneOf(['text', 'image', 'video'], 'what kind of result it makes')

const taskFields = {
  instance: f.text('id of the instance'),
  run: f.text('id of the run that wants it'),
  key: f.sha256('the key of its request'),
  lane: taskLane,
  creates: f.count('how many results the request creates'),
}

const lanes = f.list('what it takes, and how many at once', {
  lane: taskLane,
  concurrency: f.count('how many requests at once'),
})
const places = {
  worker: f.text('its name, unique among all workers of the queue'),
  queue: f.text('address of the queue, without user and password'),
  store: f.text('the store that runs and workers share, without secrets'),
  sandbox: f.flag('whether the results come from the sandbox'),
}

export type WorkerEvent = f.EventsOf<typeof workerEvents>
export const workerEvents = {
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
    /** `again`: after a wait. `returned`: the worker was stopped, or could not send it: another one does. */
    outcome: f.oneOf(['done', 'failed', 'unknown', 'again', 'returned'], 'what became of it'),
    outputs: f.count('how many files were put into the store'),
    bytes: f.count('their size'),
    took_s: f.secondsOrNull('how long it took here; null where that is not known'),
    again_s: f.secondsOrNull('after how long it is sent again; null where it is not'),
    error: f.orNull('why it was not made; null if it was', f.shape('task_failure', failureFields)),
  },
}

export type WorkerDocument = f.Infer<typeof workerDocument>
export const workerDocument = f.document(['run worker'], {
  ...places,
  done: f.count('requests whose results it has put into the store'),
  failed: f.count('requests that have failed'),
  unknown: f.count('requests whose outcome is unknown'),
  created: f.count('how many results were created'),
  took_s: f.seconds('how long it was at work'),
})
