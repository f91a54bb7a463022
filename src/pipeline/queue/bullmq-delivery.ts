import { DelayedError, Queue, Worker, type Job, type JobsOptions } from 'bullmq'
import { sleep, type Clock } from '../../context.ts'
import { ModelgateError } from '../../errors.ts'
import { openBackend, shareBackend, type Backend } from './bullmq-backend.ts'
import {
  queues,
  type Delivery,
  type Handled,
  type QueueName,
  type Receiver,
  type Sender,
} from './delivery.ts'
import { reasonOf, unreachable, type QueueUrl } from './queue-url.ts'

/** So many deliveries are sent at once. */
const maxTogether = 500
/** How long a server may be away before sending fails, milliseconds. */
const patienceMs = 10_000
/** When what could not be handled is delivered again, milliseconds. */
const failedAgainMs = 5_000
/** How long closing may take before connections are cut, milliseconds. */
const closingMs = 2_000
/** The least urgent priority that BullMQ has; 1 is the most urgent. */
const lowestPriority = 2 ** 21 - 1

/**
 * Sends deliveries. One that is still in its queue is not sent once more.
 * @param namespace as for `openDocuments`
 */
export async function openSender(url: QueueUrl, namespace: string, clock: Clock): Promise<Sender> {
  const closing = new AbortController()
  let opened: { readonly backend: Backend; readonly made: Map<QueueName, Queue> } | undefined

  const queueOf = async (name: QueueName): Promise<Queue> => {
    opened ??= { backend: await openBackend(url, namespace, 1), made: new Map() }
    const { backend, made } = opened
    const found = made.get(name)
    if (found !== undefined) return found
    const queue = new Queue(name, backend.options, backend.factory)
    queue.on('error', () => {})
    made.set(name, queue)
    return queue
  }

  /** After an error all is made anew. */
  const drop = async () => {
    const { backend } = opened ?? {}
    opened = undefined
    await backend?.close().catch(() => {})
  }

  const patiently = async (work: () => Promise<unknown>): Promise<void> => {
    const start = clock.monotonic()
    for (;;) {
      try {
        await within(clock, work(), patienceMs)
        return
      } catch (error) {
        void drop()
        if (closing.signal.aborted || clock.monotonic() - start >= patienceMs)
          throw unreachable(url, reasonOf(error, url))
        await sleep(clock, 250, closing.signal).catch(() => {})
      }
    }
  }

  // One after the other: a lost connection ends all that goes over it.
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const turn = last.then(work)
    last = turn.catch(() => {})
    return turn
  }

  await patiently(() => queueOf('poll'))
  return {
    send: (name, deliveries, delayMs = 0) =>
      inTurn(async () => {
        for (let start = 0; start < deliveries.length; start += maxTogether) {
          const jobs = deliveries
            .slice(start, start + maxTogether)
            .map((delivery) => jobOf(delivery, delayMs))
          await patiently(async () => (await queueOf(name)).addBulk(jobs))
        }
      }),
    left: () =>
      inTurn(async () => {
        let left = 0
        await patiently(async () => {
          const counts = []
          for (const name of queues) {
            counts.push(
              await (await queueOf(name)).getJobCountByTypes('waiting', 'prioritized', 'delayed', 'active'),
            )
          }
          left = counts.reduce((sum, count) => sum + count, 0)
        })
        return left
      }),
    async close() {
      closing.abort()
      await last
      await within(clock, drop(), closingMs).catch(() => {})
    },
  }
}

function jobOf({ key, attempt, priority }: Delivery & { readonly priority: number }, delayMs: number) {
  const urgency = Math.min(Math.max(lowestPriority - Math.round(priority), 1), lowestPriority)
  const opts: JobsOptions = {
    // A number alone would not be taken.
    jobId: `attempt-${attempt}`,
    priority: urgency,
    delay: delayMs,
    attempts: 1,
    // So that the same one can be sent again.
    removeOnComplete: true,
    removeOnFail: true,
  }
  return { name: 'task', data: { key, attempt } satisfies Delivery, opts }
}

/**
 * Takes deliveries of one queue. What a worker that died had taken comes to another within a minute.
 * @param concurrency so many are handled at once
 * @param handle what it throws is told to `onError`, and the delivery comes again
 * @param onError told once when the server is lost, until it is there again
 * @throws ModelgateError `queue_unreachable`
 */
export async function openReceiver(
  url: QueueUrl,
  namespace: string,
  clock: Clock,
  name: QueueName,
  concurrency: number,
  handle: (delivery: Delivery) => Promise<Handled>,
  onError: (error: unknown) => void,
): Promise<Receiver> {
  const backend = await shareBackend(url, namespace, 4).catch((error: unknown) => {
    throw unreachable(url, reasonOf(error, url))
  })
  const inProgress = new Set<Promise<Handled>>()
  let told: string | undefined

  const handled = async (job: Job<Delivery>): Promise<Handled> => {
    try {
      return await handle({ key: job.data.key, attempt: job.data.attempt })
    } catch (error) {
      onError(error)
      return { againInMs: failedAgainMs }
    }
  }

  const work = async (job: Job<Delivery>, token?: string) => {
    const handling = handled(job)
    inProgress.add(handling)
    const outcome = await handling.finally(() => inProgress.delete(handling))
    if (outcome === 'over') return
    // If the server is away, the delivery comes again as one of a worker that died.
    await job.moveToDelayed(clock.now() + outcome.againInMs, token).catch(() => {})
    throw new DelayedError()
  }

  const worker = new Worker<Delivery>(
    name,
    work,
    {
      ...backend.options,
      concurrency,
      lockDuration: 30_000,
      stalledInterval: 10_000,
      // How often workers died over a task is no reason to forget it.
      maxStalledCount: 1_000_000_000,
      runRetryDelay: 1_000,
      drainDelay: 5,
    },
    backend.factory,
  )
  worker.on('error', (error) => {
    const reason = reasonOf(error, url)
    if (told !== undefined) return
    told = reason
    onError(unreachable(url, reason))
  })
  const isBack = () => (told = undefined)
  worker.on('ready', isBack)
  worker.on('active', isBack)
  worker.on('drained', isBack)

  const stop = async () => {
    const closed = worker.close()
    await Promise.all(inProgress)
    await within(clock, closed, closingMs).catch(() => {})
    await within(clock, backend.close(), closingMs).catch(() => {})
    // What waited for the server has been told by now that it will not come.
    await within(clock, closed, closingMs).catch(() => {})
  }
  let stopped: Promise<void> | undefined
  return { stop: () => (stopped ??= stop()) }
}

/** @throws ModelgateError when it takes longer; it goes on */
async function within<Result>(clock: Clock, work: Promise<Result>, ms: number): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = clock.timer(ms, () =>
    reject(new ModelgateError('notSent', 'queue_unreachable', 'it does not answer.')),
  )
  try {
    return await Promise.race([work, promise])
  } finally {
    timer.cancel()
  }
}
