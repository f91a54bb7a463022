import type { Clock } from '../../../src/context.ts'
import type { Lane } from '../../../src/pipeline/manifest/manifest.ts'
import type { Backend } from '../../../src/pipeline/queue/redis-server.ts'
import { QueueServer, type ReceiveOptions } from '../../../src/pipeline/queue/queue-server.ts'
import type { TaskData, TaskJob } from '../../../src/pipeline/queue/task-state.ts'

interface StoredJob {
  readonly lane: Lane
  readonly id: string
  data: { message: string; state: string }
  finishedOn?: number | undefined
  /** When it may be delivered; undefined while a worker has it. */
  dueAt: number | undefined
}

/** A queue in this process, on a clock of the test's own, for workers of one gateway. What it holds are plain objects. */
export class MemoryQueue extends QueueServer {
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
    stored.dueAt = this.#time.now() + waitMs
    const deliver = () => {
      for (const take of this.#receivers) take()
    }
    const due = stored.dueAt
    const wake = () => {
      // On a clock that hurries it is due when it is called.
      if (stored.dueAt === due) stored.dueAt = this.#time.now()
      deliver()
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
