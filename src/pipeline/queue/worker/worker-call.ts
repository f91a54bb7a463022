import type { Context } from '../../../context.ts'
import type { OutputEvent } from '../../../events/documents.ts'
import type { OperationContext, Redactor } from '../../../operations/operation.ts'
import type { JobStore } from '../../../files/calls/job-store.ts'
import type { ExecuteCall } from '../../execute/task-run.ts'
import type { Lane } from '../../manifest/manifest.ts'
import type { SharedStore } from '../../store/blob-store.ts'
import type { QueueServer, ReceiveOptions, RequestRate } from '../queue-server.ts'

export interface WorkerOptions {
  readonly places: Readonly<Record<Lane, number>>
  /** `--rate`: of each lane, for all workers of the queue. */
  readonly rate: RequestRate | null
  readonly graceS: number
  readonly untilEmpty: boolean
}

export interface WorkerCall {
  readonly context: OperationContext & Pick<Context, 'processes'>
  readonly server: QueueServer
  readonly store: SharedStore
  readonly shared: Omit<ExecuteCall, 'context' | 'project' | 'redactor' | 'jobs' | 'timeoutMs'>
  readonly redactor: Redactor
  readonly isSandbox: boolean
  /** For the workers of this machine, absolute: each process has a folder of its own in it. */
  readonly folder: string
  readonly options: WorkerOptions
  readonly listener: { event(event: OutputEvent): void }
  readonly locks?: ReceiveOptions['locks']
  readonly onStart?: (name: string) => void
}

/** A worker at work: what all of its deliveries share. */
export interface Worker extends WorkerCall {
  /** Unique among all workers of the queue. */
  readonly name: string
  readonly ownFolder: string
  readonly jobs: JobStore
  /** Aborted when nothing new is begun. */
  readonly closing: AbortSignal
  /** Aborted when the time of grace is over: requests are given up, and what cannot be written down is for the next process. */
  readonly inFlight: AbortSignal
  /** Begins the end for a reason of the worker's own. What is in flight may take its time. */
  end(reason: unknown): void
  warn(message: string): void
  /** Does on the server what may be done twice, for as long as it takes. @throws the reason of the worker's end */
  ask<Value>(work: () => Promise<Value>): Promise<Value>
}
