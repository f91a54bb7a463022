import { join } from 'node:path'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import type { Clock } from '../../../src/context.ts'
import type { Instance, Lane } from '../../../src/pipeline/manifest/manifest.ts'
import { buildRequest } from '../../../src/pipeline/manifest/request-body.ts'
import {
  encodeTask,
  jobIdOf,
  type TaskData,
  type TaskJob,
  type TaskMessage,
  type TaskState,
} from '../../../src/pipeline/queue/message.ts'
import { QueueServer, type ReceiveOptions } from '../../../src/pipeline/queue/queue-server.ts'
import type { Backend } from '../../../src/pipeline/queue/redis-server.ts'
import type { WorkerOptions } from '../../../src/pipeline/queue/worker/worker-call.ts'
import { openFolderStore } from '../../../src/pipeline/store/shared-store.ts'
import { startTestWorker, type WorkerChanges } from './test-worker.ts'
import { taskBench } from '../../support/pipeline-task.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'

interface StoredJob {
  readonly lane: Lane
  readonly id: string
  data: { message: string; state: string }
  finishedOn?: number | undefined
  /** When it may be delivered; undefined while a worker has it. */
  dueAt: number | undefined
}

/** A queue in this process, on a clock of the test's own, for workers of one gateway. What it holds are plain objects. */
class MemoryQueue extends QueueServer {
  readonly jobs = new Map<string, StoredJob>()
  readonly #marks = new Map<string, string>()
  readonly #time: Clock
  readonly #receivers = new Set<() => void>()
  #deliveries = 0

  constructor(clock: Clock) {
    const url = { kind: 'redis', href: 'redis://memory', shown: 'redis://memory' } as const
    super(url, {} as Backend, { isSandbox: false, gateway: new URL('http://gateway'), clock })
    this.#time = clock
  }

  add(lane: Lane, id: string, data: TaskData): void {
    this.jobs.set(id, { lane, id, data, dueAt: this.#time.now() })
    for (const take of this.#receivers) take()
  }

  override async find(_: Lane, id: string): Promise<TaskJob | undefined> {
    const stored = this.jobs.get(id)
    return stored && this.#jobOf(stored)
  }

  override async win(attempt: string, who: string): Promise<string> {
    const winner = this.#marks.get(attempt) ?? who
    this.#marks.set(attempt, winner)
    return winner
  }

  override async removeMark(attempt: string): Promise<void> {
    this.#marks.delete(attempt)
  }

  override async close(): Promise<void> {}

  override async countOpen(): Promise<number> {
    return [...this.jobs.values()].filter(({ finishedOn }) => finishedOn === undefined).length
  }

  override receive(lane: Lane, { concurrency, handle }: ReceiveOptions): () => Promise<void> {
    const inProgress = new Set<Promise<void>>()
    const work = async (stored: StoredJob) => {
      stored.dueAt = undefined
      const handled = await handle(this.#jobOf(stored), `${++this.#deliveries}`)
      if (handled.kind === 'over') stored.finishedOn = this.#time.now()
      else this.#again(stored, handled.kind === 'again' ? handled.inMs : handled.ms)
    }
    const take = () => {
      if (!this.#receivers.has(take)) return
      for (const stored of this.jobs.values()) {
        if (inProgress.size >= concurrency) return
        if (stored.lane !== lane || stored.finishedOn !== undefined) continue
        if (stored.dueAt === undefined || stored.dueAt > this.#time.now()) continue
        const working = work(stored).then(() => {
          inProgress.delete(working)
          take()
        })
        inProgress.add(working)
      }
    }
    this.#receivers.add(take)
    take()
    return async () => {
      this.#receivers.delete(take)
      await Promise.all(inProgress)
    }
  }

  #again(stored: StoredJob, ms: number): void {
    const waitMs = Math.max(1, ms)
    const due = this.#time.now() + waitMs
    stored.dueAt = due
    const wake = () => {
      // On a clock that hurries it is due when it is called.
      if (stored.dueAt === due) stored.dueAt = this.#time.now()
      for (const take of this.#receivers) take()
    }
    this.#time.timer(waitMs, wake, 'sleep')
  }

  /** What a worker uses of a job. */
  #jobOf(stored: StoredJob): TaskJob {
    const job = {
      id: stored.id,
      data: stored.data,
      finishedOn: stored.finishedOn,
      async updateData(data: TaskData) {
        job.data = data
        stored.data = data
      },
      async changePriority() {},
      async updateProgress() {},
    }
    return job as unknown as TaskJob
  }
}

/**
 * A queue in this process, with a store in a folder, for as many workers as a test starts.
 * @param below where the folders of the run, the store and the machine are; anywhere unless told
 */
export async function memoryWorkers(clock: Clock, below = temporaryFolder()) {
  const folderFor = (name: string) => {
    mkdirSync(join(below, name), { recursive: true })
    return join(below, name)
  }
  const queue = new MemoryQueue(clock)
  const storeFolder = folderFor('store')
  const machine = folderFor('machine')
  const store = await openFolderStore(testContext({ cwd: storeFolder }), storeFolder)
  const project = folderFor('project')
  let number = 0
  return {
    queue,
    store,
    machine,
    /** Gives a task to the queue. @returns its id */
    async submit(instance: Instance, more: Partial<TaskState> = {}): Promise<string> {
      const key = (++number).toString(16).padStart(64, '0')
      const { taskOf, context } = taskBench('http://gateway')
      const inputs = { folder: project, upstream: new Map() }
      const request = () => buildRequest(context, instance, inputs)
      const task = taskOf(instance, { key, idempotencyKey: queue.newId(), request })
      const run = '20261122T120000000-0000abcd'
      const message = await encodeTask(task, { run, folder: project, store })
      const unsent = { failures: 0, job: null, made: null, outcome: null }
      const state: TaskState = { attempt: queue.newId(), ...unsent, ...more }
      const id = jobIdOf(task.idempotencyKey)
      queue.add(instance.lane, id, { message: JSON.stringify(message), state: JSON.stringify(state) })
      return id
    },
    write: (name: string, content: string | Uint8Array) => writeFiles(project, { [name]: content }),
    /** What workers have left on the disk. */
    left: () => (existsSync(join(machine, 'workers')) ? readdirSync(join(machine, 'workers')) : []),
    /** Spoils a message. */
    change(id: string, change: (message: TaskMessage) => unknown) {
      const { data } = queue.jobs.get(id)!
      const message = JSON.stringify(change(JSON.parse(data.message) as TaskMessage))
      queue.jobs.get(id)!.data = { ...data, message }
    },
    stateOf: (id: string) => JSON.parse(queue.jobs.get(id)!.data.state) as TaskState,
    isOver: (id: string) => queue.jobs.get(id)!.finishedOn !== undefined,
    work: (url: string, options: Partial<WorkerOptions> = {}, changes: WorkerChanges = {}) =>
      startTestWorker({ url, clock, machine, store, options, open: async () => queue }, changes),
  }
}
