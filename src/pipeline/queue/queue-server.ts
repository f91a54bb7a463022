import { createHash } from 'node:crypto'
import { DelayedError, Queue, QueueEvents, RateLimitError, Worker } from 'bullmq'
import { randomHex, sleep, type Clock } from '../../context.ts'
import { ModelgateError } from '../../errors.ts'
import { isObject } from '../../json.ts'
import type { Lane } from '../manifest/manifest.ts'
import { unreachable, type QueueUrl } from './queue-url.ts'
import type { Backend } from './redis-server.ts'
import type { TaskData, TaskJob } from './message.ts'

export interface RequestRate {
  readonly requests: number
  readonly perMs: number
}

/** Stands in a mark in place of a worker: nobody sends it. */
export const withdrawn = 'withdrawn'

export type Handled =
  /** The task's state says how; or another worker has won the attempt. */
  | { readonly kind: 'over'; readonly wonBy?: string }
  | { readonly kind: 'again'; readonly inMs: number }
  /** Its whole lane rests before. */
  | { readonly kind: 'rest'; readonly ms: number }

export interface ReceiveOptions {
  readonly concurrency: number
  readonly rate: RequestRate | null
  readonly locks: { readonly durationMs: number; readonly lookMs: number }
  handle(job: TaskJob, delivery: string): Promise<Handled>
  onError(error: ModelgateError): void
}

/** A lane without a rate has a limit all the same: only such a one rests. */
const unlimited = { max: 2 ** 31 - 1, duration: 1_000 }
export const keptS = 7 * 24 * 3600

const answerMs = 10_000
/** How long a worker that has nothing in hand may take to close, in milliseconds. */
const closingMs = 2_000

interface ServerOptions {
  /** Runs of the sandbox never meet workers that pay, nor its workers other runs. */
  readonly isSandbox: boolean
  /** A rate and its pauses hold for all who send to it. */
  readonly gateway: URL
  readonly clock: Clock
}

export class QueueServer {
  readonly url: QueueUrl
  readonly gateway: URL
  readonly backend: Backend
  /** Of the data that the server has; another one when it has lost them. */
  identity = ''
  readonly #clock: Clock
  readonly #gatewayName: string
  readonly #queues = new Map<string, Queue>()
  readonly #events: QueueEvents[] = []

  /** Its client is loaded only now. @throws UsageError `queue_refused`; ModelgateError `queue_unreachable` */
  static async open(url: QueueUrl, options: ServerOptions): Promise<QueueServer> {
    const namespace = options.isSandbox ? 'modelgate_sandbox' : 'modelgate'
    const backend =
      url.kind === 'postgres'
        ? await (await import('./postgres-server.ts')).openPostgres(url, namespace)
        : await (await import('./redis-server.ts')).openRedis(url, namespace)
    const server = new QueueServer(url, backend, options)
    try {
      const identity = await server.ask(() => server.#setOnce('about', 'identity', server.newId()))
      server.identity = identity ?? ''
      return server
    } catch (error) {
      await server.close()
      throw error
    }
  }

  protected constructor(url: QueueUrl, backend: Backend, { isSandbox, gateway, clock }: ServerOptions) {
    this.url = url
    this.gateway = gateway
    this.backend = backend
    this.#clock = clock
    const address = `${gateway.origin}${gateway.pathname.replace(/\/+$/, '')}`
    const digest = createHash('sha256').update(address).digest('hex')
    this.#gatewayName = isSandbox ? 'sandbox' : digest.slice(0, 12)
  }

  #nameOf(lane: Lane): string {
    return `${lane}-${this.#gatewayName}`
  }

  lane(lane: Lane): Queue<TaskData> {
    return this.#queue(this.#nameOf(lane))
  }

  async find(lane: Lane, id: string): Promise<TaskJob | undefined> {
    return (await this.lane(lane).getJob(id)) ?? undefined
  }

  async countOpen(lanes: readonly Lane[]): Promise<number> {
    const states = ['waiting', 'prioritized', 'delayed', 'active'] as const
    const counts = lanes.map((lane) => this.lane(lane).getJobCountByTypes(...states))
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
  }

  /** What a worker had that died comes to another when its lock is over. @returns resolves when nothing is in progress */
  receive(name: Lane, { concurrency, rate, locks, handle, onError }: ReceiveOptions): () => Promise<void> {
    const inHand = new Set<Promise<unknown>>()
    const work = async (job: TaskJob, token: string | undefined) => {
      // A token is used again for another delivery.
      const handled = await handle(job, this.newId())
      if (handled.kind === 'over') return handled.wonBy ?? null
      if (handled.kind === 'again') {
        // If its lock is lost, another worker has it by now.
        await job.moveToDelayed(this.#clock.now() + handled.inMs, token).catch(() => {})
        throw new DelayedError()
      }
      const lane = this.lane(name)
      // When it is over a new window of the rate begins: never before the one that runs is over.
      const left = await lane.getRateLimitTtl().catch(() => 0)
      await lane.rateLimit(Math.max(handled.ms, left)).catch(() => {})
      throw new RateLimitError()
    }
    const worker = new Worker<TaskData>(
      this.#nameOf(name),
      (job, token) => {
        const done = work(job, token)
        inHand.add(done)
        return done.finally(() => inHand.delete(done))
      },
      {
        ...this.backend.options,
        concurrency,
        limiter: rate === null ? unlimited : { max: rate.requests, duration: rate.perMs },
        lockDuration: locks.durationMs,
        stalledInterval: locks.lookMs,
        // How often workers died over a task is no reason to forget it.
        maxStalledCount: 1_000_000_000,
        runRetryDelay: 1_000,
        // A lane that has rested is looked at when this is over.
        drainDelay: 1,
      },
      this.backend.factory,
    )
    worker.on('error', (error) => {
      // A lock that was lost is no failure of the server.
      if (!/lock|missing job|not in the active state/i.test(error.message))
        onError(unreachable(this.url, error))
    })
    return async () => {
      const closed = worker.close()
      await Promise.allSettled(inHand)
      // While the server is away, its client may wait for it for ever.
      await this.#within(closed, closingMs).catch(() => {})
    }
  }

  newId(): string {
    return randomHex(this.#clock, 32)
  }

  /**
   * Whoever comes first wins an attempt to send a task: adding a job that is there changes nothing, on either server.
   * Nobody works on the queue of the marks. @returns who has won it; undefined when the mark is gone again
   */
  win(attempt: string, who: string): Promise<string | undefined> {
    return this.#setOnce('marks', `sent-${attempt}`, who)
  }

  /** The task must be another attempt, or gone, before: whoever wins it looks at the task once more. */
  async removeMark(attempt: string): Promise<void> {
    await this.#queue('marks').remove(`sent-${attempt}`)
  }

  async removeOldMarks(): Promise<void> {
    await this.#queue('marks').clean(keptS * 1000, 1_000, 'wait')
  }

  async #setOnce(queue: string, name: string, value: string): Promise<string | undefined> {
    await this.#queue(queue).add('mark', { value }, { jobId: name })
    const found: unknown = (await this.#queue(queue).getJob(name))?.data
    return isObject(found) && typeof found['value'] === 'string' ? found['value'] : undefined
  }

  #queue(name: string): Queue {
    let queue = this.#queues.get(name)
    if (queue === undefined) {
      queue = new Queue(name, this.backend.options, this.backend.factory)
      queue.on('error', () => {})
      queue.setMaxListeners(0)
      this.#queues.set(name, queue)
    }
    return queue
  }

  /** Messages may be lost. */
  follow(lane: Lane): QueueEvents {
    const events = new QueueEvents(this.#nameOf(lane), this.backend.options, this.backend.factory)
    events.on('error', () => {})
    this.#events.push(events)
    return events
  }

  /** For what may be done twice: for `forMs` again and again. @throws ModelgateError `queue_unreachable` */
  async ask<Value>(work: () => Promise<Value>, options: Partial<Patience> = {}): Promise<Value> {
    const asked = async () => {
      try {
        return await this.#within(work())
      } catch (error) {
        throw unreachable(this.url, error)
      }
    }
    return await patiently(asked, { clock: this.#clock, forMs: 0, isPassing: () => true, ...options })
  }

  async #within<Value>(work: Promise<Value>, ms = answerMs): Promise<Value> {
    const { promise, reject } = Promise.withResolvers<never>()
    const timer = this.#clock.timer(ms, () => reject(new Error('it does not answer.')))
    try {
      return await Promise.race([work, promise])
    } finally {
      timer.cancel()
    }
  }

  async close(): Promise<void> {
    const events = this.#events.map((one) => one.close().catch(() => {}))
    await this.#within(Promise.all(events)).catch(() => {})
    await this.#within(this.backend.close()).catch(() => {})
  }
}

const firstPauseMs = 500
const maxPauseMs = 5_000

interface Patience {
  readonly clock: Clock
  readonly signal?: AbortSignal
  readonly forMs?: number
  /** Whether it may work later, by itself or when an operator has done something. */
  isPassing(error: ModelgateError): boolean
  onFailure?(error: ModelgateError): void
}

/** Does what may be done twice, with growing pauses, until it works. @throws what another attempt would not change */
export async function patiently<Value>(
  work: () => Promise<Value>,
  { clock, signal, forMs = Infinity, isPassing, onFailure }: Patience,
): Promise<Value> {
  const began = clock.monotonic()
  for (let tries = 0; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof ModelgateError) || !isPassing(error)) throw error
      if (clock.monotonic() - began >= forMs) throw error
      signal?.throwIfAborted()
      onFailure?.(error)
    }
    const pauseMs = Math.min(maxPauseMs, firstPauseMs * 2 ** tries)
    await sleep(clock, pauseMs * (0.75 + clock.random() / 2), signal)
  }
}
