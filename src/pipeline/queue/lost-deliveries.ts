import type { Clock, Timer } from '../../context.ts'
import type { QueueName, Sender } from './delivery.ts'
import type { DocumentStore } from './document-store.ts'
import { lookAt } from './submissions.ts'
import { isFinal } from './task-document.ts'

/** How often it is asked whether the queue is empty. */
const lookMs = 60_000

/**
 * Delivers tasks again that a queue has lost: a server may have had them in memory only when its power failed. While a queue
 * holds nothing and no worker is at anything, tasks that have not ended will not come to their end by themselves. To deliver
 * one too often does no harm.
 * @param keys of the tasks that are waited for
 */
export function watchDeliveries(
  { documents, sender }: { readonly documents: DocumentStore; readonly sender: Sender },
  clock: Clock,
  keys: () => readonly string[],
): Timer {
  let isOver = false
  let timer: Timer
  const look = async () => {
    if (keys().length === 0 || (await sender.left()) > 0) return
    const lost = Map.groupBy(
      [...(await lookAt(documents, keys()))].filter(([, task]) => !isFinal(task)),
      ([, { state, lane }]): QueueName => (state === 'started' ? 'poll' : lane),
    )
    for (const [queue, tasks] of lost) {
      const deliveries = tasks.map(([key, { attempt }]) => ({ key, attempt, priority: 0 }))
      if (!isOver) await sender.send(queue, deliveries)
    }
  }
  const next = () => {
    // A queue that is away is told by those who wait for their tasks.
    const looked = look().catch(() => {})
    void looked.then(() => {
      if (!isOver) timer = clock.timer(lookMs, next)
    })
  }
  timer = clock.timer(lookMs, next)
  return {
    cancel() {
      isOver = true
      timer.cancel()
    },
  }
}
