import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Clock } from '../../../src/context.ts'
import { Interrupted } from '../../../src/errors.ts'
import type { OutputEvent } from '../../../src/events/documents.ts'
import type { QueueServer } from '../../../src/pipeline/queue/queue-server.ts'
import type { WorkerCall, WorkerOptions } from '../../../src/pipeline/queue/worker/worker-call.ts'
import { runWorker } from '../../../src/pipeline/queue/worker/worker.ts'
import { taskBench } from '../../support/pipeline-task.ts'
import { testContext } from '../../support/test-context.ts'

interface WorkerStart extends Pick<WorkerCall, 'store' | 'locks'> {
  /** Of the gateway. */
  readonly url: string
  readonly clock: Clock
  /** The home of its folders. */
  readonly machine: string
  readonly options?: Partial<WorkerOptions>
  open(): Promise<QueueServer>
}

export interface WorkerChanges extends Partial<Pick<WorkerCall, 'store' | 'redactor'>> {
  readonly gateway?: Partial<WorkerCall['shared']['gateway']>
  readonly maxCreates?: number
  readonly processes?: WorkerCall['context']['processes']
  readonly pollIntervalS?: number
}

const usual = { places: { text: 8, image: 4, video: 2 }, rate: null, graceS: 5, untilEmpty: false }

/** A worker in this process, which ends with the test. */
export function startTestWorker(start: WorkerStart, changes: WorkerChanges = {}) {
  const { url, clock, machine, store, options } = start
  const { maxCreates, gateway, processes, pollIntervalS } = changes
  const { shared } = taskBench(url, maxCreates === undefined ? {} : { maxCreates })
  const controller = new AbortController()
  const events: OutputEvent[] = []
  const work = async () => {
    const server = await start.open()
    const context = { ...testContext({ cwd: machine }), clock, signal: controller.signal }
    return await runWorker({
      context: processes === undefined ? context : { ...context, processes },
      server,
      store: changes.store ?? store,
      shared: {
        ...shared,
        pollIntervalS,
        rescueFolder: join(machine, 'rescued'),
        gateway: { ...shared.gateway, clock, ...gateway },
      },
      redactor: changes.redactor ?? shared.redactor,
      isSandbox: false,
      folder: join(machine, 'workers'),
      options: { ...usual, ...options },
      listener: { event: (event) => void events.push(event) },
      ...(start.locks === undefined ? {} : { locks: start.locks }),
    }).finally(() => server.close())
  }
  const ended = work()
  // Who waits for it sees it.
  ended.catch(() => {})
  // What is left of a test must not outlive it.
  onTestFinished(() => void controller.abort(new Interrupted('terminate')))
  return {
    ended,
    abort: (reason: Error) => controller.abort(reason),
    /** As at a SIGTERM. */
    async stop() {
      controller.abort(new Interrupted('terminate'))
      await ended.catch(() => {})
    },
    warnings: () => events.flatMap((event) => (event.type === 'warning-add' ? [event.message] : [])),
    outcomes: () => events.flatMap((event) => (event.type === 'task-end' ? [event.outcome] : [])),
  }
}
