import type { Sender } from '../queue/delivery.ts'
import type { DocumentStore } from '../queue/document-store.ts'
import type { SharedStore } from '../store/shared-store.ts'

/** A queue, and the store that all of its machines share. */
export interface OpenQueue {
  readonly documents: DocumentStore
  readonly sender: Sender
  readonly store: SharedStore
  close(): Promise<void>
}

/** Where a run has its requests made by workers. */
export interface QueueCall {
  /** The words of the command that starts a worker. */
  readonly worker: readonly string[]
  /** Called once, and only where something may be made. @throws UsageError; ModelgateError (exit 3, 5, 6); FileError */
  open(): Promise<OpenQueue>
}
