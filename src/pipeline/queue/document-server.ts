import type { JsonObject } from '../../json.ts'
import type { Documents } from './document-store.ts'

export interface Snapshot {
  readonly names: readonly string[]
  readonly documents: Documents
  /** Of those that the server keeps anything of; each change gives another one. */
  readonly versions: ReadonlyMap<string, string>
  /** The server's clock, in milliseconds since 1970. */
  readonly now: number
}

export interface Changes {
  readonly documents: ReadonlyMap<string, JsonObject | null>
  readonly expiring: ReadonlySet<string>
  readonly messages: readonly string[]
}

/** What a server can do at once. Both throw ServerLost, and whatever else is wrong as a ModelgateError. */
export interface DocumentServer {
  snapshot(names: readonly string[]): Promise<Snapshot>
  /**
   * Writes all of it, durably, if no name of the snapshot was written since.
   * @returns false if one was: nothing is written
   */
  write(snapshot: Snapshot, changes: Changes): Promise<boolean>
  /**
   * Reads and writes while all others who want these names wait, for a server that can have them wait.
   * @returns false if that was not possible: nothing is written
   */
  readonly alone?: (names: readonly string[], change: (snapshot: Snapshot) => Changes) => Promise<boolean>
}

/** The server did not do what it was asked to. */
export class ServerLost extends Error {
  /** Whether nothing can have been written. */
  readonly isCertain: boolean

  constructor(reason: string, { isCertain }: { readonly isCertain: boolean }) {
    super(reason)
    this.isCertain = isCertain
  }
}
