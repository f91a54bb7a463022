import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { systemClock } from '../../../src/context.ts'
import { Interrupted } from '../../../src/errors.ts'
import type { OutputEvent } from '../../../src/events/documents.ts'
import { lanes } from '../../../src/pipeline/manifest/manifest.ts'
import { QueueServer, stateOf, type TaskJob } from '../../../src/pipeline/queue/queue-server.ts'
import { readQueueUrl } from '../../../src/pipeline/queue/queue-url.ts'
import { runWorker } from '../../../src/pipeline/queue/worker/worker.ts'
import type { WorkerCall, WorkerOptions } from '../../../src/pipeline/queue/worker/worker-context.ts'
import type { QueueCall } from '../../../src/pipeline/run/run-call.ts'
import { openFolderStore } from '../../../src/pipeline/store/folder-store.ts'
import { taskBench } from '../../support/pipeline-task.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'

export interface WorkerChanges extends Partial<Pick<WorkerCall, 'store' | 'redactor' | 'isSandbox'>> {
  readonly gateway?: Partial<WorkerCall['shared']['gateway']>
  readonly maxCreates?: number
  readonly machine?: string
  readonly processes?: WorkerCall['context']['processes']
  /** Stands between the worker and its server. */
  readonly server?: (server: QueueServer) => QueueServer
}

/** In a hundredth of the usual time a worker is taken for dead. */
export const locks = { durationMs: 800, lookMs: 400 }

/**
 * A queue on a server, whose lanes are those of a gateway, with a store in a folder and as many workers as a test starts.
 * @param url of the server
 * @param gateway its base URL: what tests of one server share is apart by it
 */
export async function queueBench(url: string, gateway: string) {
  const queueUrl = readQueueUrl(url)
  const clock = systemClock
  const store = temporaryFolder()
  const machine = temporaryFolder()
  const folderStore = await openFolderStore(testContext({ cwd: store }), store)
  const openServer = async () => {
    const options = { isSandbox: false, gateway: new URL(gateway), clock, connections: 4 }
    return await QueueServer.open(queueUrl, options)
  }
  const own = await openServer()
  onTestFinished(() => own.close())
  let opened = 0
  const call: QueueCall = {
    worker: ['modelgate', 'run', 'worker', '--queue', 'redis://queue', '--store', 'store'],
    async open() {
      opened++
      const server = await openServer()
      return { server, store: folderStore, close: () => server.close() }
    },
  }

  const jobs = async (): Promise<TaskJob[]> => {
    const types = ['waiting', 'prioritized', 'delayed', 'active', 'completed', 'failed'] as const
    const all = await Promise.all(lanes.map((lane) => own.lane(lane).getJobs([...types])))
    return all.flat().filter((job) => job !== undefined)
  }

  /** Begins to work. */
  const work = (options: Partial<WorkerOptions> = {}, changes: WorkerChanges = {}) => {
    const { maxCreates, gateway: gatewayChanges, processes, machine: folder = machine } = changes
    const { shared } = taskBench(gateway, maxCreates === undefined ? {} : { maxCreates })
    const controller = new AbortController()
    const events: OutputEvent[] = []
    const start = async () => {
      const server = await openServer()
      return await runWorker({
        context: {
          ...testContext({ cwd: folder }),
          clock,
          signal: controller.signal,
          ...(processes === undefined ? {} : { processes }),
        },
        server: changes.server?.(server) ?? server,
        store: changes.store ?? folderStore,
        shared: {
          ...shared,
          pollIntervalS: 0.1,
          rescueFolder: join(folder, 'rescued'),
          gateway: { ...shared.gateway, clock, ...gatewayChanges },
        },
        redactor: changes.redactor ?? shared.redactor,
        isSandbox: changes.isSandbox ?? false,
        folder: join(folder, 'workers'),
        options: {
          places: { text: 8, image: 4, video: 2 },
          rate: null,
          graceS: 5,
          untilEmpty: false,
          ...options,
        },
        listener: { event: (event) => void events.push(event) },
        locks,
      }).finally(() => server.close())
    }
    const ended = start()
    // Who waits for it sees it.
    ended.catch(() => {})
    // What is left of a test must not outlive it.
    onTestFinished(async () => {
      controller.abort(new Interrupted('terminate'))
      await ended.catch(() => {})
    })
    return {
      ended,
      events,
      abort: (reason: Error) => controller.abort(reason),
      /** As at a SIGTERM. */
      async stop() {
        controller.abort(new Interrupted('terminate'))
        expect(await ended).toMatchObject({ exit: 'terminate' })
      },
      warnings: () => events.flatMap((event) => (event.type === 'warning-add' ? [event.message] : [])),
      outcomes: () => events.flatMap((event) => (event.type === 'task-end' ? [event.outcome] : [])),
    }
  }

  return {
    call,
    server: own,
    store: folderStore,
    storeFolder: store,
    machine,
    work,
    jobs,
    opened: () => opened,
    /** How many tasks are there and have no outcome. */
    open: async () => (await jobs()).filter((job) => job.finishedOn === undefined).length,
    /** How many tasks have an outcome that no run has taken. */
    told: async () => (await jobs()).filter((job) => stateOf(job).outcome !== null).length,
    /** What workers have left on the disk. */
    left: (folder = machine) =>
      existsSync(join(folder, 'workers')) ? readdirSync(join(folder, 'workers')) : [],
  }
}
