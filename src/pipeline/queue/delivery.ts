import type { Lane } from '../manifest/manifest.ts'

/** What waits in the queue: look-ups of remote jobs apart from the lanes, so that they never wait for a place. */
export const queues = ['text', 'image', 'video', 'poll'] as const
export type QueueName = Lane | 'poll'

/** A delivery names a task; all else is in its document. */
export interface Delivery {
  readonly key: string
  readonly attempt: string
}

/** Brings tasks to workers, each at least once. Nothing about money depends on it. */
export interface Sender {
  /**
   * @param priority in seconds, how long a task and what waits for it will take: the longest first
   * @param delayMs not before so many milliseconds from now
   * @throws ModelgateError `queue_unreachable`
   */
  send(
    queue: QueueName,
    deliveries: readonly (Delivery & { readonly priority: number })[],
    delayMs?: number,
  ): Promise<void>
  /** How many deliveries there are in all queues: waiting, delayed, and in progress at some worker. */
  left(): Promise<number>
  close(): Promise<void>
}

/** What a worker did with a delivery: it is over, or is to be delivered again in so many milliseconds. */
export type Handled = 'over' | { readonly againInMs: number }

export interface Receiver {
  /** Takes no more deliveries; resolves when those in progress are over. */
  stop(): Promise<void>
}
