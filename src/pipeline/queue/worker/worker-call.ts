import type { Context } from '../../../context.ts'
import type { OutputEvent } from '../../../events/documents.ts'
import type { OperationContext, Redactor } from '../../../operations/operation.ts'
import type { ExecuteCall } from '../../execute/task-run.ts'
import type { Lane } from '../../manifest/manifest.ts'
import type { SharedStore } from '../../store/shared-store.ts'
import type { Delivery, Handled, QueueName, Receiver, Sender } from '../delivery.ts'
import type { DocumentStore } from '../document-store.ts'
import type { Intents } from '../intents.ts'
import type { RequestRate } from '../queue-lanes.ts'
import type { LaneTurns } from './lane-turns.ts'
import type { WorkerStop } from './worker-stop.ts'

export interface WorkerCall {
  readonly context: OperationContext & Pick<Context, 'processes'>
  readonly documents: DocumentStore
  readonly sender: Sender
  /** Takes deliveries of a queue, at most so many at once. @param handle never throws */
  receive(
    queue: QueueName,
    concurrency: number,
    handle: (delivery: Delivery) => Promise<Handled>,
    onError: (error: unknown) => void,
  ): Promise<Receiver>
  readonly store: SharedStore
  readonly shared: Omit<ExecuteCall, 'context' | 'project' | 'redactor' | 'timeoutMs' | 'inputDigest'>
  readonly redactor: Redactor
  readonly isSandbox: boolean
  /** For the workers of this machine, absolute: each process has a folder of its own in it. */
  readonly folder: string
  readonly options: WorkerOptions
  readonly listener: { event(event: OutputEvent): void }
  /** Called with the worker's name once it has begun. */
  readonly onStart?: (name: string) => void
}

export interface WorkerOptions {
  /** How many requests at once. */
  readonly places: Readonly<Record<Lane, number>>
  /** `--rate`. */
  readonly rate: RequestRate | null
  /** Whether a request of unknown outcome is sent again under the same key. */
  readonly isSentAgain: boolean
  /** How long what is in flight may go on after a signal. */
  readonly graceS: number
  /** Whether it ends when nothing is left to do. */
  readonly untilEmpty: boolean
}

/** A worker at work: what all of its deliveries share. */
export interface Worker extends WorkerCall {
  /** Unique among all workers of the queue. */
  readonly name: string
  readonly intents: Intents
  /** Of this process alone. */
  readonly ownFolder: string
  readonly stop: WorkerStop
  readonly turns: LaneTurns
  /** The keys that a delivery of this process is at: another of the same key has to wait. */
  readonly atWork: Set<string>
  /** The time of the queue's server, in milliseconds since 1970, as far as it is known. */
  serverTime(): number
  /** The same is not said again for a minute. */
  warn(message: string): void
}
