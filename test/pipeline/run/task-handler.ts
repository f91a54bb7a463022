import { join } from 'node:path'
import { amountText } from '../../../src/cost/amount.ts'
import { asModelgateError } from '../../../src/errors.ts'
import { buildRequest } from '../../../src/pipeline/execute/task-body.ts'
import { creationOf } from '../../../src/pipeline/manifest/instance-body.ts'
import { executeTask } from '../../../src/pipeline/execute/execute-task.ts'
import type { Delivery, Handled } from '../../../src/pipeline/queue/delivery.ts'
import type { DocumentStore } from '../../../src/pipeline/queue/document-store.ts'
import { openIntents } from '../../../src/pipeline/queue/intents.ts'
import { placeInputs } from '../../../src/pipeline/queue/place-inputs.ts'
import { decodeTask } from '../../../src/pipeline/queue/task-message.ts'
import type { SharedStore } from '../../../src/pipeline/store/shared-store.ts'
import { taskBench } from '../../support/pipeline-task.ts'

interface Options {
  readonly documents: DocumentStore
  readonly store: SharedStore
  /** Of the gateway. */
  readonly url: string
  readonly name?: string
  readonly isSentAgain?: boolean
}

/** The least that a worker does with a delivery: what the protocol says, one task at a time from its begin to its end. */
export function taskHandler({ documents, store, url, name = 'worker', isSentAgain = false }: Options) {
  const { shared, project } = taskBench(url)
  const intents = openIntents(documents, {
    worker: name,
    rate: null,
    isSentAgain,
    random: () => 0.5,
    redact: (json) => json,
  })
  let number = 0
  return async (delivery: Delivery): Promise<Handled> => {
    const begun = await intents.begin(delivery)
    if (begun.kind === 'over') return 'over'
    if (begun.kind === 'wait') return { againInMs: begun.ms }
    const { task, message } = begun
    const ref = { ...delivery, run: task.run }
    const folder = join(project.folder, `task-${number++}`)
    const end = async () => {
      try {
        const { instance, upstream } = await placeInputs(decodeTask(message), store, folder)
        const job = task.job === null || task.job.kind === 'response' ? null : task.job
        const { result, files, cost, warnings } = await executeTask(
          { ...shared, project: { ...project, folder } },
          {
            instance,
            creation: creationOf(instance),
            request: () => buildRequest(shared.context, instance, { folder, upstream }),
            key: delivery.key,
            variant: 1,
            idempotencyKey: task.attempt,
            folder: join(folder, 'work'),
            job: job as { id: string; kind: 'video' } | null,
            made: null,
            async onMade() {},
            onJob: (id, kind) => intents.started(ref, { id, kind }),
            onProgress() {},
          },
        )
        for (const [at, { sha256 }] of result.outputs.entries()) await store.put(files[at]!, sha256)
        const known = cost === null ? null : { amount: amountText(cost.amount), currency: cost.currency }
        return { kind: 'result', result, cost: known, warnings } as const
      } catch (error) {
        return asModelgateError(error, false)
      }
    }
    const againInMs = await intents.end(ref, await end())
    return againInMs === null ? 'over' : { againInMs }
  }
}
