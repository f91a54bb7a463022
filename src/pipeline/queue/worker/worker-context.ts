import type { Context } from '../../../context.ts'
import type { OutputEvent } from '../../../events/documents.ts'
import type { OperationContext, Redactor } from '../../../operations/operation.ts'
import type { ExecuteCall } from '../../execute/task-run.ts'
import type { Lane } from '../../manifest/manifest.ts'
import type { SharedStore } from '../../store/shared-store.ts'
import type { TaskMessage } from '../message.ts'
import type { Handled, QueueServer, TaskJob, TaskState } from '../queue-server.ts'
import type { WorkerStop } from './worker-stop.ts'

/** At most so many requests in a window of that length. */
export interface RequestRate {
  readonly requests: number
  readonly perMs: number
}

export interface WorkerOptions {
  /** How many requests at once. */
  readonly places: Readonly<Record<Lane, number>>
  /** `--rate`: of each lane, for all workers of the queue. */
  readonly rate: RequestRate | null
  /** How long what is in flight may go on after a signal. */
  readonly graceS: number
  /** Whether it ends when nothing is left to do. */
  readonly untilEmpty: boolean
}

export interface WorkerCall {
  readonly context: OperationContext & Pick<Context, 'processes'>
  readonly server: QueueServer
  readonly store: SharedStore
  readonly shared: Omit<ExecuteCall, 'context' | 'project' | 'redactor' | 'timeoutMs'>
  readonly redactor: Redactor
  readonly isSandbox: boolean
  /** For the workers of this machine, absolute: each process has a folder of its own in it. */
  readonly folder: string
  readonly options: WorkerOptions
  readonly listener: { event(event: OutputEvent): void }
  /** In milliseconds: how long a lock lasts, and how often locks are looked at. */
  readonly locks?: { readonly durationMs: number; readonly lookMs: number }
  /** Called with the worker's name once it has begun. */
  readonly onStart?: (name: string) => void
}

/** A worker at work: what all of its deliveries share. */
export interface Worker extends WorkerCall {
  /** Unique among all workers of the queue. */
  readonly name: string
  /** Of this process alone. */
  readonly ownFolder: string
  readonly stop: WorkerStop
  /** The same is not said again for a minute. */
  warn(message: string): void
  /** Does on the server what may be done twice, for as long as it takes. @throws the signal's reason */
  ask<Value>(until: AbortSignal, work: () => Promise<Value>): Promise<Value>
}

/** One delivery of a task, in the hands of this worker. */
export interface Delivery {
  /** Unique. */
  readonly id: string
  readonly lane: Lane
  readonly job: TaskJob
  readonly message: TaskMessage
  readonly state: TaskState
}

export const over: Handled = { kind: 'over' }
export const again = (inMs: number): Handled => ({ kind: 'again', inMs })
/** Its files stay here, for the next process, which has a minute to tell of them. */
export const leftHere: Handled = { kind: 'again', inMs: 60_000 }
