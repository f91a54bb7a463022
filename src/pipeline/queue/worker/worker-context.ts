import type { Clock, Context, Timer } from '../../../context.ts'
import { Interrupted } from '../../../errors.ts'
import type { OutputEvent } from '../../../events/documents.ts'
import type { OperationContext, Redactor } from '../../../operations/operation.ts'
import type { ExecuteCall } from '../../execute/task-run.ts'
import type { Lane } from '../../manifest/manifest.ts'
import type { SharedStore } from '../../store/shared-store.ts'
import type { TaskMessage } from '../message.ts'
import type { Handled, QueueServer, TaskJob, TaskState } from '../queue-server.ts'

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

/** How a worker comes to its end, in three steps. */
export interface WorkerStop {
  /** Aborted at the first step: nothing new is begun. */
  readonly closing: AbortSignal
  /** Aborted when the time of grace is over: requests are given up. */
  readonly inFlight: AbortSignal
  /** Aborted when no more is written down: what is left is for the next process. */
  readonly lastWords: AbortSignal
  /** Begins the end for a reason of the worker's own. What is in flight may take its time. */
  end(reason: unknown): void
  /** Why it ends; a signal goes before any other reason. */
  reason(): unknown
  /** No longer listens to signals. */
  close(): void
}

/** After the requests have been given up, to write down what came of them, in milliseconds. */
const lastWordsMs = 2_000
/** Then, to close connections. */
const closeMs = 1_000

/** Obeys a signal: a second one ends the process itself (`obeySignals`). */
export function openStop(
  { signal, clock }: { readonly signal: AbortSignal; readonly clock: Clock },
  graceS: number,
): WorkerStop {
  const [closing, inFlight, lastWords] = [new AbortController(), new AbortController(), new AbortController()]
  let reason: unknown
  let timer: Timer | undefined
  const onSignal = () => {
    reason = signal.reason as unknown
    if (reason instanceof Interrupted) reason.cleanUpMs = graceS * 1000 + lastWordsMs + closeMs
    timer = clock.timer(graceS * 1000, () => {
      inFlight.abort(reason)
      timer = clock.timer(lastWordsMs, () => lastWords.abort(reason))
    })
    closing.abort(reason)
  }
  if (signal.aborted) onSignal()
  else signal.addEventListener('abort', onSignal, { once: true })
  return {
    closing: closing.signal,
    inFlight: inFlight.signal,
    lastWords: lastWords.signal,
    end(own) {
      reason ??= own
      closing.abort(own)
    },
    reason: () => reason,
    close() {
      signal.removeEventListener('abort', onSignal)
      timer?.cancel()
    },
  }
}
