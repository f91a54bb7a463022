import { openIntents, type Intents, type TaskRef } from '../../../src/pipeline/queue/intents.ts'
import type { RequestRate } from '../../../src/pipeline/queue/queue-lanes.ts'
import type { TaskOutcome } from '../../../src/pipeline/queue/task-document.ts'
import { openRun, submit, type Submission } from '../../../src/pipeline/queue/submissions.ts'
import { fakeClock, type FakeClock } from '../../support/fake-clock.ts'
import { memoryDocuments, type MemoryDocuments } from '../../support/memory-documents.ts'

export const run = '20261122T120000000-0000abcd'

/** 64 hexadecimal digits. */
export function keyOf(number: number): string {
  return number.toString(16).padStart(64, '0')
}

export interface QueueScene {
  readonly clock: FakeClock
  readonly documents: MemoryDocuments
  /** Gives tasks to the queue, a text each unless something else is said. */
  submit(...tasks: readonly Partial<Submission>[]): ReturnType<typeof submit>
  worker(
    name: string,
    options?: { readonly rate?: RequestRate; readonly isSentAgain?: boolean; readonly random?: () => number },
  ): Intents
  /** The document of a task, of the run, of the lanes. */
  task(number: number): Record<string, unknown>
  document(name: string): Record<string, unknown>
}

/** A text as a result. */
export const done: Extract<TaskOutcome, { kind: 'result' }> = {
  kind: 'result',
  result: {
    outputs: [
      {
        path: '1.txt',
        sha256: keyOf(7),
        bytes: 5,
        media_type: 'text/plain',
        width: null,
        height: null,
        seconds: null,
        credentials: false,
      },
    ],
    model: 'm',
    origin: null,
    request_id: null,
    job_id: null,
    usage: null,
    took_s: 1,
  },
  cost: null,
  warnings: [],
}

/** The `number`th task, as a worker names it. */
export function ref(number: number, attempt = `attempt-${number}`): TaskRef {
  return { key: keyOf(number), attempt, run }
}

function submission(number: number, more: Partial<Submission> = {}): Submission {
  return {
    key: keyOf(number),
    attempt: `attempt-${number}`,
    instance: `job-${number}`,
    lane: 'text',
    creates: 1,
    cost: null,
    onUnknown: 'stop',
    isFresh: false,
    isSentAgain: false,
    job: null,
    message: { version: 1 },
    ...more,
  }
}

/** A queue in this process, with a run that may create and send without limits unless something else is said. */
export async function queueScene(limits: Partial<Parameters<typeof openRun>[2]> = {}): Promise<QueueScene> {
  const clock = fakeClock()
  const documents = memoryDocuments({ clock })
  const lanes = { text: 100, image: 100, video: 100 }
  await openRun(
    documents,
    run,
    { lanes, creates: null, cost: null, jobs: 10, ...limits },
    { creates: 0, cost: '0' },
  )
  const document = (name: string) => (documents.all.get(name) ?? {}) as Record<string, unknown>
  return {
    clock,
    documents,
    submit: (...tasks) =>
      submit(
        documents,
        run,
        tasks.map((task, at) => submission(at + 1, task)),
      ),
    worker: (
      worker,
      {
        rate = null,
        isSentAgain = false,
        random = () => 0.5,
      }: {
        readonly rate?: RequestRate | null
        readonly isSentAgain?: boolean
        readonly random?: () => number
      } = {},
    ) => openIntents(documents, { worker, rate, isSentAgain, random, redact: (json) => json }),
    task: (number) => document(`task:${keyOf(number)}`),
    document,
  }
}
