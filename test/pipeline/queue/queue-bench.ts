import { onTestFinished } from 'vitest'
import { systemClock } from '../../../src/context.ts'
import { lanes } from '../../../src/pipeline/manifest/manifest.ts'
import { QueueServer } from '../../../src/pipeline/queue/queue-server.ts'
import { stateOf, type TaskJob } from '../../../src/pipeline/queue/message.ts'
import { readQueueUrl } from '../../../src/pipeline/queue/queue-url.ts'
import type { QueueCall } from '../../../src/pipeline/run/run-state.ts'
import { openFolderStore } from '../../../src/pipeline/store/shared-store.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'
import { startTestWorker } from './test-worker.ts'

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
  const openServer = () => QueueServer.open(queueUrl, { isSandbox: false, gateway: new URL(gateway), clock })
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

  return {
    call,
    server: own,
    store: folderStore,
    storeFolder: store,
    /** Begins to work. @param home of its machine */
    work(home = machine) {
      const start = { url: gateway, clock, machine: home, store: folderStore, locks, open: openServer }
      return startTestWorker(start, { pollIntervalS: 0.1 })
    },
    jobs,
    opened: () => opened,
    /** How many tasks are there and have no outcome. */
    open: async () => (await jobs()).filter((job) => job.finishedOn === undefined).length,
    /** How many tasks have an outcome that no run has taken. */
    told: async () => (await jobs()).filter((job) => stateOf(job).outcome !== null).length,
  }
}
