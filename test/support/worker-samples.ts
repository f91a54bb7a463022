import type { WorkerDocument, WorkerEvent } from '../../src/events/run-document.ts'

const task = {
  instance: 'photos[shoe]',
  run: '20261122T120000000-0000abcd',
  key: 'a'.repeat(64),
  lane: 'image',
  creates: 1,
} as const

/** One of every event of a worker. */
export const sampleWorkerEvents = {
  'worker-start': {
    type: 'worker-start',
    worker: 'host-1234-0a1b2c3d',
    queue: 'redis://queue:6379',
    store: 's3://bucket/assets',
    sandbox: false,
    lanes: [
      { lane: 'text', concurrency: 8 },
      { lane: 'image', concurrency: 4 },
    ],
    rate: '20/s',
  },
  'task-start': { type: 'task-start', ...task, attempt: 1 },
  'task-end': {
    type: 'task-end',
    ...task,
    outcome: 'failed',
    outputs: 0,
    bytes: 0,
    took_s: null,
    again_s: null,
    error: { code: 'rejected', exit_code: 4, billed: 'no', message: 'The gateway refused it.' },
  },
} as const satisfies { readonly [Type in WorkerEvent['type']]: Extract<WorkerEvent, { type: Type }> }

export const sampleWorker: WorkerDocument = {
  version: 1,
  command: 'run worker',
  worker: 'host-1234-0a1b2c3d',
  queue: 'redis://queue:6379',
  store: 's3://bucket/assets',
  sandbox: false,
  done: 12,
  failed: 1,
  unknown: 0,
  created: 12,
  took_s: 93.5,
  warnings: [],
}
