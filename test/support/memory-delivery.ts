import type { Clock } from '../../src/context.ts'
import {
  queues,
  type Delivery,
  type Handled,
  type QueueName,
  type Receiver,
  type Sender,
} from '../../src/pipeline/queue/delivery.ts'

interface Waiting {
  readonly delivery: Delivery
  readonly priority: number
  isReady: boolean
}

interface Party {
  readonly queue: QueueName
  readonly concurrency: number
  readonly handle: (delivery: Delivery) => Promise<Handled>
  readonly active: Set<Delivery>
  isStopped: boolean
  /** Resolves `stop`. */
  onIdle: (() => void) | undefined
}

/** The queues of BullMQ in this process: each delivery at least once, the longest first. */
export interface MemoryDelivery {
  readonly sender: Sender
  /** As the worker of a process has it. @returns what ends it; `die` delivers what it was at once more */
  party(): {
    receive(
      queue: QueueName,
      concurrency: number,
      handle: (delivery: Delivery) => Promise<Handled>,
    ): Promise<Receiver>
    die(): void
  }
  /** What has been sent, and delivered again after how long. */
  readonly log: readonly string[]
}

export function memoryDelivery(clock: Clock): MemoryDelivery {
  const waiting: Record<QueueName, Waiting[]> = { text: [], image: [], video: [], poll: [] }
  const parties = new Set<Party>()
  const log: string[] = []

  const dispatch = (queue: QueueName) => {
    for (const party of parties) {
      if (party.queue !== queue || party.isStopped) continue
      while (party.active.size < party.concurrency) {
        const ready = waiting[queue].filter(({ isReady }) => isReady)
        const next = ready.toSorted((one, other) => other.priority - one.priority)[0]
        if (next === undefined) return
        waiting[queue].splice(waiting[queue].indexOf(next), 1)
        party.active.add(next.delivery)
        void run(party, next)
      }
    }
  }
  const run = async (party: Party, { delivery, priority }: Waiting) => {
    const handled = await party.handle(delivery)
    // A party that has died does not answer.
    if (!parties.has(party)) return
    party.active.delete(delivery)
    if (handled !== 'over') {
      log.push(`${party.queue} again ${Math.round(handled.againInMs)}`)
      add(party.queue, delivery, priority, handled.againInMs)
    }
    if (party.active.size === 0) party.onIdle?.()
    dispatch(party.queue)
  }
  const add = (queue: QueueName, delivery: Delivery, priority: number, delayMs: number) => {
    const one: Waiting = { delivery: { ...delivery }, priority, isReady: delayMs <= 0 }
    waiting[queue].push(one)
    const ready = () => {
      one.isReady = true
      dispatch(queue)
    }
    if (one.isReady) queueMicrotask(() => dispatch(queue))
    else clock.timer(delayMs, ready, 'sleep')
  }

  /** One that is still in its queue is not sent once more. */
  const isThere = (queue: QueueName, attempt: string) =>
    waiting[queue].some(({ delivery }) => delivery.attempt === attempt) ||
    [...parties].some(
      (party) => party.queue === queue && [...party.active].some((delivery) => delivery.attempt === attempt),
    )

  return {
    log,
    sender: {
      async send(queue, deliveries, delayMs = 0) {
        for (const { key, attempt, priority } of deliveries) {
          if (isThere(queue, attempt)) continue
          log.push(`${queue} sent`)
          add(queue, { key, attempt }, priority, delayMs)
        }
      },
      async left() {
        const active = [...parties].reduce((sum, party) => sum + party.active.size, 0)
        return active + queues.reduce((sum, queue) => sum + waiting[queue].length, 0)
      },
      async close() {},
    },
    party() {
      const own: Party[] = []
      return {
        async receive(queue, concurrency, handle) {
          const party: Party = {
            queue,
            concurrency,
            handle,
            active: new Set(),
            isStopped: false,
            onIdle: undefined,
          }
          own.push(party)
          parties.add(party)
          queueMicrotask(() => dispatch(queue))
          return {
            async stop() {
              party.isStopped = true
              if (party.active.size > 0 && parties.has(party))
                await new Promise<void>((resolve) => (party.onIdle = resolve))
              parties.delete(party)
            },
          }
        },
        die() {
          for (const party of own) {
            parties.delete(party)
            for (const delivery of party.active) add(party.queue, delivery, 0, 0)
          }
        },
      }
    },
  }
}
