import type { Context } from '../../context.ts'
import { FileError } from '../../errors.ts'
import { shownPath } from '../../files/file-error.ts'
import type { ConnectionOptions } from '../../gateway/connection.ts'

/**
 * A store that the machines of a queue share: a folder, or a bucket. It holds bytes by their SHA-256, and what it holds is
 * trusted as far as it hashes to its name: wrong bytes count as absent, and are replaced when the right ones come.
 */
export interface SharedStore {
  /** For people; without secrets. */
  readonly shown: string
  /**
   * Stores a file, unless its bytes are there. They are safe when this returns.
   * @param path absolute
   * @throws FileError, also `source_changed` when the file has not this digest; ModelgateError
   */
  put(path: string, sha256: string): Promise<void>
  /**
   * Writes the bytes into a file, which appears whole or not at all, and replaces one that is there.
   * @param path absolute; its folder must be there
   * @returns false when the store does not have them, or has others under their name
   * @throws FileError; ModelgateError
   */
  fetch(sha256: string, path: string): Promise<boolean>
}

export type StoreContext = Pick<Context, 'cwd' | 'platform' | 'clock' | 'signal' | 'env' | 'home'>

export interface StoreNetwork {
  /** Proxies and certificates. */
  readonly connection: ConnectionOptions
  /** Whether clear text may go to another machine (`--allow-http`). */
  readonly allowHttp: boolean
  /** Receives the lines of the debug trace, without secrets. */
  readonly trace?: ((line: string) => void) | undefined
}

/** The most that one blob may have, in bytes: what S3 takes in one request. */
export const maxBlobBytes = 5 * 1024 ** 3

/** The file has not the bytes that it is to be stored for. */
export function sourceChanged(path: string): FileError {
  return new FileError('source_changed', `${shownPath(path)} has changed since it was first read.`, {
    phase: 'input',
    billed: 'no',
    hint: 'Run it again once the file is complete.',
  })
}
