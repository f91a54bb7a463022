import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { systemClock } from '../../../src/context.ts'
import { asModelgateError } from '../../../src/errors.ts'
import { amountText } from '../../../src/cost/amount.ts'
import { executeTask } from '../../../src/pipeline/execute/execute-task.ts'
import type { Delivery, QueueName, Sender } from '../../../src/pipeline/queue/delivery.ts'
import { openIntents } from '../../../src/pipeline/queue/intents.ts'
import { placeInputs } from '../../../src/pipeline/queue/place-inputs.ts'
import { queueDocument } from '../../../src/pipeline/queue/document-shapes.ts'
import type { TaskDocument } from '../../../src/pipeline/queue/task-document.ts'
import { decodeTask } from '../../../src/pipeline/queue/task-message.ts'
import type { QueueCall } from '../../../src/pipeline/run/open-queue.ts'
import { openFolderStore } from '../../../src/pipeline/store/folder-store.ts'
import { memoryDocuments } from '../../support/memory-documents.ts'
import { taskBench } from '../../support/pipeline-task.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'

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
      return { documents, sender, store, close: async () => {} }
    },
  }

  /** Begins to work on what is delivered, and sends requests to a gateway. @returns stops taking more */
  const work = (url: string, { name = 'worker', isSentAgain = false, atOnce = 4 } = {}) => {
    const { shared, project } = taskBench(url)
    const random = () => 0.5
    const intents = openIntents(documents, {
      worker: name,
      rate: null,
      isSentAgain,
      random,
      redact: (json) => json,
    })
    let [busy, number] = [0, 0]
    const handle = async (delivery: Delivery): Promise<number | null> => {
      const begun = await intents.begin(delivery)
      if (begun.kind === 'over') return null
      if (begun.kind === 'wait') return begun.ms
      const { task, message } = begun
      const ref = { ...delivery, run: task.run }
      const folder = join(project.folder, `task-${number++}`)
      try {
        const placed = await placeInputs(decodeTask(message), store, folder)
        const job = task.job === null || task.job.kind === 'response' ? null : task.job
        const { result, files, cost, warnings } = await executeTask(
          { ...shared, project: { ...project, folder } },
          {
            ...placed,
            key: delivery.key,
            variant: 1,
            idempotencyKey: task.attempt,
            folder: join(folder, 'work'),
            job: job as { id: string; kind: 'video' } | null,
            onJob: (id, kind) => intents.started(ref, { id, kind }),
            onProgress() {},
          },
        )
        for (const [at, { sha256 }] of result.outputs.entries()) await store.put(files[at]!, sha256)
        const known = cost === null ? null : { amount: amountText(cost.amount), currency: cost.currency }
        return await intents.end(ref, { kind: 'result', result, cost: known, warnings })
      } catch (error) {
        return await intents.end(ref, asModelgateError(error, false))
      }
    }
    const take = () => {
      while (busy < atOnce && waiting.length > 0) {
        const delivery = waiting.shift()!
        busy++
        void handle(delivery).then((againMs) => {
          busy--
          if (againMs !== null) systemClock.timer(Math.min(againMs, 5), () => deliver(delivery), 'background')
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
