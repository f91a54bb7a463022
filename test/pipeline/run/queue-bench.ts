import { onTestFinished } from 'vitest'
import { systemClock } from '../../../src/context.ts'
import { queueDocument } from '../../../src/pipeline/queue/document-shapes.ts'
import type { Delivery, QueueName, Sender } from '../../../src/pipeline/queue/delivery.ts'
import type { TaskDocument } from '../../../src/pipeline/queue/task-document.ts'
import type { QueueCall } from '../../../src/pipeline/run/run-call.ts'
import { openFolderStore } from '../../../src/pipeline/store/folder-store.ts'
import { memoryDocuments } from '../../support/memory-documents.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'
import { taskHandler } from './task-handler.ts'

type Faults = NonNullable<Parameters<typeof memoryDocuments>[0]['fault']>

/** A queue in this process, with a store in a folder and as many workers as a test starts. */
export async function queueBench({ fault }: { readonly fault?: Faults } = {}) {
  const documents = memoryDocuments({ clock: systemClock, ...(fault && { fault }) })
  const storeFolder = temporaryFolder()
  const store = await openFolderStore(testContext({ cwd: storeFolder }), storeFolder)
  const waiting: Delivery[] = []
  const sent: { readonly queue: QueueName; readonly key: string }[] = []
  const workers = new Set<() => void>()
  const deliver = (delivery: Delivery) => {
    waiting.push(delivery)
    for (const wake of workers) wake()
  }
  const sender: Sender = {
    async send(queue, deliveries) {
      for (const delivery of deliveries) {
        sent.push({ queue, key: delivery.key })
        deliver(delivery)
      }
    },
    left: async () => waiting.length,
    async close() {},
  }
  let opened = 0
  const call: QueueCall = {
    worker: ['modelgate', 'run', 'worker', '--queue', 'redis://queue', '--store', 'store'],
    async open() {
      opened++
      return { documents, sender, store, shown: 'redis://queue', close: async () => {} }
    },
  }

  /** Begins to work on what is delivered, and sends requests to a gateway. @returns stops taking more */
  const work = (url: string, { name = 'worker', isSentAgain = false, atOnce = 4 } = {}) => {
    const handle = taskHandler({ documents, store, url, name, isSentAgain })
    let busy = 0
    const take = () => {
      while (busy < atOnce && waiting.length > 0) {
        const delivery = waiting.shift()!
        busy++
        void handle(delivery).then((handled) => {
          busy--
          // Sooner than a worker would: nobody waits here for a clock.
          if (handled !== 'over') {
            const { againInMs } = handled
            systemClock.timer(Math.min(againInMs, 5), () => deliver(delivery), 'background')
          }
          take()
        })
      }
    }
    workers.add(take)
    const stop = () => void workers.delete(take)
    onTestFinished(stop)
    take()
    return stop
  }

  return {
    call,
    documents,
    store,
    storeFolder,
    sent,
    work,
    waiting,
    opened: () => opened,
    /** The tasks that there are, by their instances. */
    tasks: (): Record<string, TaskDocument> =>
      Object.fromEntries(
        [...documents.all].flatMap(([name, document]) => {
          const task = name.startsWith('task:') ? queueDocument('task', document) : undefined
          return task === undefined ? [] : [[task.instance, task]]
        }),
      ),
  }
}
