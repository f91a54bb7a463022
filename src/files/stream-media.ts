import { createHash } from 'node:crypto'
import type { FileContext, Sink } from '../context.ts'
import { FileError, ModelgateError } from '../errors.ts'
import type { AtomicFile } from './atomic-file.ts'
import { shownPath } from './file-error.ts'
import { extensionOf } from './media-type.ts'
import { damagedMedia, damageOf, isVerified, type MediaFile, type MediaKind } from './media-file.ts'
import { openRescueFile, type Rescue } from './open-atomic-file.ts'

/** A rescue needs the whole content, so it is kept in memory up to this size. */
const maxRescuedBytes = 256 * 1_048_576

/** Standard output takes bytes here, and is no terminal. */
export type StreamContext = FileContext & {
  readonly stdout: Pick<Sink, 'write' | 'needsDrain' | 'drain'>
}

/**
 * Writes media to standard output as they arrive (`-o -`), but nothing until the first bytes have been identified.
 * Damage found at the end cannot be undone. The path of the result is `-`.
 * @param rescue where the whole content goes if standard output fails (a full disk)
 */
export function streamMedia<Facts>(
  context: StreamContext,
  kind: MediaKind<Facts>,
  rescue?: Rescue,
): MediaFile<Facts> {
  const { stdout } = context
  let inspector = kind.createInspector()
  let hash = createHash('sha256')
  let waiting: Uint8Array[] = []
  let written: Uint8Array[] = []
  let bytesWritten = 0
  /** What has left already, and comes again from its beginning. */
  let repeated: { left: number; readonly sha256: string } | undefined
  let rescued: { readonly file: AtomicFile; readonly reason: FileError } | undefined

  async function pass() {
    for (const piece of waiting.splice(0)) {
      const bytes = fresh(piece)
      if (bytes.length === 0) continue
      hash.update(bytes)
      bytesWritten += bytes.length
      if (rescued !== undefined) await rescued.file.write(bytes)
      else stdout.write(bytes)
      if (rescued === undefined && rescue !== undefined) written.push(bytes)
    }
    if (bytesWritten > maxRescuedBytes) written = []
    if (stdout.needsDrain) await drain()
  }
  /** The bytes that have not left yet. @throws ModelgateError for others than those that have */
  function fresh(bytes: Uint8Array): Uint8Array {
    if (repeated === undefined) return bytes
    const known = bytes.subarray(0, repeated.left)
    hash.update(known)
    repeated.left -= known.length
    if (repeated.left > 0) return bytes.subarray(bytes.length)
    if (hash.copy().digest('hex') !== repeated.sha256) throw contentChanged()
    repeated = undefined
    return bytes.subarray(known.length)
  }
  async function drain() {
    if (rescued !== undefined) return
    await stdout.drain().catch(async (reason: unknown) => {
      if (!(reason instanceof FileError) || rescue === undefined || written.length === 0) throw reason
      const name = `${kind.noun}.${extensionOf(inspector.inspect().mediaType)}`
      const file = await openRescueFile(context, rescue.rescueFolder, name, reason)
      rescued = { file, reason }
      for (const bytes of written.splice(0)) await file.write(bytes)
    })
  }
  async function discard() {
    waiting = written = []
    await rescued?.file.discard()
  }
  async function commitDamaged() {
    waiting = written = []
    return (await rescued?.file.commitDamaged().catch(() => undefined))?.path
  }
  return {
    noun: kind.noun,
    async write(bytes) {
      // A copy, because the stream may use it after the caller has reused its buffer.
      waiting.push(Buffer.from(bytes))
      if (inspector.add(bytes) !== undefined) await pass()
    },
    integrity: () => inspector.inspect().integrity,
    async restart() {
      waiting = []
      inspector = kind.createInspector()
      if (bytesWritten === 0) return
      repeated ??= { left: 0, sha256: hash.digest('hex') }
      repeated.left = bytesWritten
      hash = createHash('sha256')
    },
    async commit(isFramed = true) {
      if (repeated !== undefined) throw contentChanged()
      const { mediaType, facts, integrity } = inspector.inspect()
      await pass()
      await drain()
      const damage = damageOf({ mediaType, integrity }, isFramed)
      if (damage !== undefined) throw damagedMedia(kind.noun, damage, await commitDamaged())
      const saved = {
        ...facts,
        path: '-',
        bytes: bytesWritten,
        sha256: hash.digest('hex'),
        mime_type: mediaType,
        verified: isVerified(integrity, isFramed),
      }
      if (rescued === undefined) return saved
      const { file, reason } = rescued
      const { path, rescued: kept } = await file.commit()
      const message = `${reason.message} The ${kind.noun} is kept in ${shownPath(path, Infinity)}.`
      return { ...saved, path, rescued: kept!.amend({ message }) }
    },
    commitDamaged,
    discard,
  }
}

/** A pipe takes nothing back. */
function contentChanged(): ModelgateError {
  const message = 'The content at the URL changed during the download.'
  const facts = { phase: 'result', billed: 'no', hint: 'Run it again.' } as const
  return new ModelgateError('later', 'download_changed', message, facts)
}
