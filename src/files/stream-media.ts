import { createHash } from 'node:crypto'
import type { FileContext, Sink } from '../context.ts'
import { FileError, ModelgateError } from '../errors.ts'
import { shownPath } from './file-error.ts'
import { writeMedia, type MediaFile, type MediaKind } from './media-file.ts'
import { openRescueFile, type AtomicFile, type Rescue, type WrittenFile } from './atomic-file.ts'

/** A rescue needs the whole content, so it is kept in memory up to this size. */
const maxRescuedBytes = 256 * 1_048_576

/** Standard output takes bytes here, and is no terminal. */
export type StreamContext = FileContext & {
  readonly stdout: Pick<Sink, 'write' | 'needsDrain' | 'drain'>
}

/** Damage found at the end cannot be undone. @param rescue for the whole content if standard output fails */
export function streamMedia<Facts>(
  context: StreamContext,
  kind: MediaKind<Facts>,
  rescue?: Rescue,
): MediaFile<Facts> {
  const stream = new OutputStream(context, kind.noun, rescue)
  return writeMedia(kind, async (extension) => stream.begin(extension))
}

/** Standard output as a file: what has left is not taken back, so content that begins again has to be the same. */
class OutputStream implements AtomicFile {
  readonly #context: StreamContext
  readonly #noun: string
  readonly #rescue: Rescue | undefined
  #extension = ''
  #hash = createHash('sha256')
  #bytes = 0
  #written: Uint8Array[] = []
  #repeated: { left: number; readonly sha256: string } | undefined
  #failure: FileError | undefined

  constructor(context: StreamContext, noun: string, rescue: Rescue | undefined) {
    this.#context = context
    this.#noun = noun
    this.#rescue = rescue
  }

  begin(extension: string): this {
    this.#extension = extension
    if (this.#bytes > 0) {
      const sha256 = this.#repeated?.sha256 ?? this.#hash.digest('hex')
      this.#repeated = { left: this.#bytes, sha256 }
      this.#hash = createHash('sha256')
    }
    return this
  }

  get isDirect(): boolean {
    return this.#failure === undefined
  }

  async write(chunk: Uint8Array): Promise<void> {
    // A copy, because the stream may use it after the caller has reused its buffer.
    const bytes = Buffer.from(this.#withoutRepeated(chunk))
    if (bytes.length === 0) return
    const { stdout } = this.#context
    this.#hash.update(bytes)
    this.#bytes += bytes.length
    if (this.#rescue !== undefined) this.#written.push(bytes)
    if (this.#bytes > maxRescuedBytes) this.#written = []
    if (this.#failure !== undefined) return
    stdout.write(bytes)
    if (stdout.needsDrain) await this.#drain()
  }

  /** @throws ModelgateError for others than those that have left */
  #withoutRepeated(bytes: Uint8Array): Uint8Array {
    const repeated = this.#repeated
    if (repeated === undefined) return bytes
    const known = bytes.subarray(0, repeated.left)
    this.#hash.update(known)
    repeated.left -= known.length
    if (repeated.left === 0) {
      if (this.#hash.copy().digest('hex') !== repeated.sha256) throw contentChanged()
      this.#repeated = undefined
    }
    return bytes.subarray(known.length)
  }

  async #drain(): Promise<void> {
    if (this.#failure !== undefined) return
    await this.#context.stdout.drain().catch((reason: unknown) => {
      if (!(reason instanceof FileError) || this.#written.length === 0) throw reason
      this.#failure = reason
    })
  }

  async commit(isDamaged = false): Promise<WrittenFile> {
    if (this.#repeated !== undefined && !isDamaged) throw contentChanged()
    await this.#drain()
    const written = { path: '-', bytes: this.#bytes, sha256: this.#hash.copy().digest('hex') }
    const reason = this.#failure
    if (reason === undefined) return written
    if (this.#written.length === 0) throw reason
    const name = `${this.#noun}.${this.#extension}`
    const file = await openRescueFile(this.#context, this.#rescue!.rescueFolder, name, reason)
    for (const bytes of this.#written) await file.write(bytes)
    const { path, rescued } = await file.commit(isDamaged)
    const message = `${reason.message} The ${this.#noun} is kept in ${shownPath(path, Infinity)}.`
    return { ...written, path, rescued: rescued!.amend({ message }) }
  }

  async discard(): Promise<void> {}
}

function contentChanged(): ModelgateError {
  const message = 'The content at the URL changed during the download.'
  const facts = { phase: 'result', billed: 'no', hint: 'Run it again.' } as const
  return new ModelgateError('later', 'connection_lost', message, facts)
}
