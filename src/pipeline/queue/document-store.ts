import type { JsonObject } from '../../json.ts'

/** What a transaction has read, by name. A document that does not exist is left out. */
export type Documents = ReadonlyMap<string, JsonObject>

/** What a transaction changes, all of it or nothing. */
export interface Writes<Result> {
  /** The new documents, by name; null removes one. Each must have been among those that were read. */
  readonly documents: ReadonlyMap<string, JsonObject | null>
  /** Names of written documents that nobody needs for longer than `expiryMs`; all others stay. */
  readonly expiring?: readonly string[]
  /** Told to all watchers once the change is on the disk. */
  readonly messages?: readonly string[]
  readonly result: Result
}

/**
 * JSON documents on the server of a queue, read and changed by many processes at once. What the queue must know of money is
 * here and not in the queue itself, which only delivers.
 */
export interface DocumentStore {
  /** Made when the store was first used: one whose data was lost, and which began anew, has another one. */
  readonly identity: string
  /** @throws ModelgateError `queue_unreachable` (exit 6) */
  read(names: readonly string[]): Promise<Documents>
  /**
   * Reads documents, and writes what `change` makes of them, as if nobody else were there. It is on the disk of the server
   * when this resolves.
   * @param change may be called several times; `now` is the server's clock, in milliseconds since 1970
   * @throws ModelgateError `queue_unreachable` (exit 6), also where it is not known whether it was written: whoever repeats
   * it has to look; what `change` throws
   */
  transact<Result>(
    names: readonly string[],
    change: (documents: Documents, now: number) => Writes<Result>,
  ): Promise<Result>
  /** Tells all watchers something that need not be kept. Best effort. */
  notify(message: string): Promise<void>
  /**
   * Calls back for each message from now on.
   * @param onGap called when messages may have been missed: at the beginning, and after each lost connection
   * @returns ends it
   */
  watch(onMessage: (message: string) => void, onGap: () => void): Promise<() => Promise<void>>
  close(): Promise<void>
}

/** How long a document that expires is kept at least: a run that was killed can take up its results for a week. */
export const expiryMs = 7 * 24 * 3600 * 1000
