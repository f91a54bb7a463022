import type { Delivery, QueueName, Sender } from './delivery.ts'

type Priority = { readonly priority: number }

interface Waiting {
  readonly queue: QueueName
  readonly delivery: Delivery & Priority
  readonly done: PromiseWithResolvers<void>
}

/** So many deliveries are handed over at once. */
const most = 500

/** Hands over deliveries: those that come while others are under way go together. */
export function gatherSends(
  sender: Sender,
): (queue: QueueName, delivery: Delivery & Priority) => Promise<void> {
  let waiting: Waiting[] = []
  let isSending = false

  const sendAll = async () => {
    isSending = true
    while (waiting.length > 0) {
      const batch = waiting.slice(0, most)
      waiting = waiting.slice(most)
      const groups = Map.groupBy(batch, ({ queue }) => queue)
      await Promise.all([...groups].map(([queue, group]) => sendGroup(sender, queue, group)))
    }
    isSending = false
  }

  return (queue, delivery) => {
    const done = Promise.withResolvers<void>()
    waiting.push({ queue, delivery, done })
    if (!isSending) void sendAll()
    return done.promise
  }
}

async function sendGroup(sender: Sender, queue: QueueName, group: readonly Waiting[]): Promise<void> {
  try {
    await sender.send(
      queue,
      group.map(({ delivery }) => delivery),
    )
    for (const { done } of group) done.resolve()
  } catch (error) {
    for (const { done } of group) done.reject(error)
  }
}
