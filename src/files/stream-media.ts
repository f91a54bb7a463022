import { createHash } from 'node:crypto'
import type { FileContext, Sink } from '../context.ts'
import { FileError, ModelgateError } from '../errors.ts'
import { shownPath } from './file-error.ts'
import { writeMedia, type MediaFile, type MediaKind } from './media-file.ts'
import { openRescueFile, type AtomicFile, type Rescue } from './atomic-file.ts'

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
  return writeMedia(kind, openStream(context, kind.noun, rescue))
}

/** Standard output as a file, for each beginning of the content: what has left is not taken back, so content that begins again has to be the same. */
function openStream(context: StreamContext, noun: string, rescue: Rescue | undefined) {
  const { stdout } = context
  let extension = ''
  let hash = createHash('sha256')
  let length = 0
  let written: Uint8Array[] = []
  let repeated: { left: number; readonly sha256: string } | undefined
  let failure: FileError | undefined

  /** @throws ModelgateError for others than those that have left */
  const withoutRepeated = (bytes: Uint8Array): Uint8Array => {
    if (repeated === undefined) return bytes
    const known = bytes.subarray(0, repeated.left)
    hash.update(known)
    repeated.left -= known.length
    if (repeated.left === 0) {
      if (hash.copy().digest('hex') !== repeated.sha256) throw contentChanged()
      repeated = undefined
    }
    return bytes.subarray(known.length)
  }
  const drain = async (): Promise<void> => {
    if (failure !== undefined) return
    await stdout.drain().catch((reason: unknown) => {
      if (!(reason instanceof FileError) || written.length === 0) throw reason
      failure = reason
    })
  }
  const file: AtomicFile = {
    get isDirect() {
      return failure === undefined
    },
    async write(chunk) {
      // A copy, because the stream may use it after the caller has reused its buffer.
      const bytes = Buffer.from(withoutRepeated(chunk as Uint8Array))
      if (bytes.length === 0) return
      hash.update(bytes)
      length += bytes.length
      if (rescue !== undefined) written.push(bytes)
      if (length > maxRescuedBytes) written = []
      if (failure !== undefined) return
      stdout.write(bytes)
      if (stdout.needsDrain) await drain()
    },
    async commit(isDamaged = false) {
      if (repeated !== undefined && !isDamaged) throw contentChanged()
      await drain()
      const whole = { path: '-', bytes: length, sha256: hash.copy().digest('hex') }
      const reason = failure
      if (reason === undefined) return whole
      if (written.length === 0) throw reason
      const rescued = await openRescueFile(context, rescue!.rescueFolder, `${noun}.${extension}`, reason)
      for (const bytes of written) await rescued.write(bytes)
      const kept = await rescued.commit(isDamaged)
      const message = `${reason.message} The ${noun} is kept in ${shownPath(kept.path, Infinity)}.`
      return { ...whole, path: kept.path, rescued: kept.rescued!.amend({ message }) }
    },
    async discard() {},
  }
  return async (newExtension: string): Promise<AtomicFile> => {
    extension = newExtension
    if (length > 0) {
      repeated = { left: length, sha256: repeated?.sha256 ?? hash.digest('hex') }
      hash = createHash('sha256')
    }
    return file
  }
}

function contentChanged(): ModelgateError {
  const message = 'The content at the URL changed during the download.'
  const facts = { phase: 'result', billed: 'no', hint: 'Run it again.' } as const
  return new ModelgateError('later', 'connection_lost', message, facts)
}
