import { ContractError, asSentence, ModelgateError } from '../errors.ts'
import type { Integrity, Shape } from './containers.ts'
import { describeContent, looksLikeText, extensionOf } from './media-type.ts'
import type { FileContext } from '../context.ts'
import { shownPath } from './file-error.ts'
import { FileInspector, type FileFacts } from './inspect-file.ts'
import { openAtomicFile, type AtomicFile, type Rescue, type WrittenFile } from './atomic-file.ts'

export interface MediaKind<Facts> {
  readonly noun: 'image' | 'video'
  factsOf(mediaType: string, shape: Shape): Facts
}

const unknownType = 'application/octet-stream'
/** Nothing of an unknown format is shorter. */
const minUnknownBytes = 64
/** Enough for every signature of media, three packets of a transport stream among them. */
const signatureBytes = 512

/**
 * Of an unknown type it may be valid all the same. @throws ContractError `damaged_media` for nothing, and for
 * something else
 */
export function describeMedia<Facts>({ noun, factsOf }: MediaKind<Facts>, inspector: FileInspector) {
  const { mediaType = unknownType, container, start } = inspector.end()
  if (start.length === 0) throw new ContractError('damaged_media', `The gateway sent an empty ${noun}.`)
  const mayBeMedia =
    mediaType === unknownType
      ? start.length >= minUnknownBytes && !looksLikeText(start)
      : mediaType.startsWith(`${noun}/`)
  if (!mayBeMedia) throw notMedia(noun, start)
  return { mediaType, facts: factsOf(mediaType, container.shape), integrity: container.integrity() }
}

function notMedia(noun: 'image' | 'video', start: Buffer): ContractError {
  const content = describeContent(start)
  return new ContractError(
    'damaged_media',
    `The gateway sent ${content} instead of ${noun === 'image' ? 'an image' : 'a video'}.`,
    noun === 'image' ? { hint: 'Add --raw to see the reply as it was received.' } : {},
  )
}

export type SavedMedia<Facts> = Facts &
  WrittenFile & {
    readonly mime_type: string
    readonly verified: boolean
  }

export interface MediaWriter<Saved> {
  /**
   * The bytes may be overwritten afterwards. @throws ContractError `damaged_media` as soon as the first bytes show
   * it; FileError
   */
  write(bytes: Uint8Array): Promise<void>
  /**
   * @param isFramed whether the transport showed where the content ends
   * @throws ContractError `damaged_media`: it is kept as `NAME.damaged.EXT` where it can be; FileError
   */
  commit(isFramed?: boolean): Promise<Saved>
  /** As `NAME.damaged.EXT`. Never throws. @returns its path; undefined where nothing was kept */
  commitDamaged(): Promise<string | undefined>
  /** Never throws; at any time. */
  discard(): Promise<void>
}

export interface MediaFile<Facts> extends MediaWriter<SavedMedia<Facts>> {
  readonly noun: MediaKind<Facts>['noun']
  /** @throws ContractError for what is no such media */
  integrity(): Integrity
  restart(): Promise<void>
}

export interface MediaFileOptions extends Partial<Rescue> {
  /** Gets the extension, known only when the first bytes have arrived. */
  readonly pathFor: (extension: string) => string
  /** Without it a file whose name is taken gets the next free one. */
  readonly force: boolean
  readonly renamed?: (planned: string, saved: string) => void
}

/** Created when the first bytes show that they are such media, so that an error page never becomes a file. */
export function openMediaFile<Facts>(
  context: FileContext,
  kind: MediaKind<Facts>,
  { pathFor, renamed, ...options }: MediaFileOptions,
): MediaFile<Facts> {
  return writeMedia(
    kind,
    (extension) =>
      openAtomicFile(context, pathFor(extension), { ...options, numbered: true, hasArrived: true }),
    ({ path, rescued }, extension) => {
      const planned = pathFor(extension)
      if (rescued === undefined && path !== planned) renamed?.(planned, path)
    },
  )
}

/** @param open called once the first bytes have been identified */
export function writeMedia<Facts>(
  kind: MediaKind<Facts>,
  open: (extension: string) => Promise<AtomicFile>,
  saved: (file: WrittenFile, extension: string) => void = () => {},
): MediaFile<Facts> {
  let inspector = new FileInspector(signatureBytes)
  let waiting: Uint8Array[] = []
  let file: AtomicFile | undefined

  async function opened(mediaType: string): Promise<AtomicFile> {
    file ??= await open(extensionOf(mediaType))
    for (const bytes of waiting.splice(0)) await file.write(bytes)
    return file
  }
  const inspect = () => describeMedia(kind, inspector)
  async function discard() {
    waiting = []
    await file?.discard()
    file = undefined
  }
  async function commitDamaged() {
    if (file === undefined && waiting.length === 0) return undefined
    try {
      const written = await opened(inspect().mediaType)
      const kept = await written.commit(true)
      return written.isDirect ? undefined : kept.path
    } catch {
      return undefined
    } finally {
      await discard()
    }
  }
  return {
    noun: kind.noun,
    async write(bytes) {
      inspector.add(bytes)
      if (file !== undefined) return await file.write(bytes)
      waiting.push(Buffer.from(bytes))
      if (inspector.known !== undefined) await opened(inspect().mediaType)
    },
    integrity: () => inspect().integrity,
    async restart() {
      await discard()
      inspector = new FileInspector(signatureBytes)
    },
    async commit(isFramed = true) {
      const { mediaType, facts, integrity } = inspect()
      const { state, damage } = integrity
      const isUnknown = isFramed && mediaType === unknownType
      // What has no known format is kept only where it may have been cut anywhere, so that nobody can judge it.
      const problem = damage ?? (isUnknown ? 'it is of no known format' : undefined)
      if (problem !== undefined) throw damagedMedia(kind.noun, problem, await commitDamaged())
      const written = await (await opened(mediaType)).commit()
      saved(written, extensionOf(mediaType))
      // A container that does not say where it ends is taken to be complete when the transport says so.
      const verified = state === 'whole' || (state === 'unknown' && isFramed)
      return { ...facts, ...written, mime_type: mediaType, verified }
    },
    commitDamaged,
    discard,
  }
}

export function savedAs<Facts>(
  kind: MediaKind<Facts>,
  { path, bytes, sha256, mediaType = unknownType, integrity, ...shape }: FileFacts,
): SavedMedia<Facts> | undefined {
  const isOfKind = mediaType === unknownType || mediaType.startsWith(`${kind.noun}/`)
  if (!isOfKind || bytes === 0 || integrity.damage !== undefined) return undefined
  const verified = integrity.state === 'whole'
  return { ...kind.factsOf(mediaType, shape), path, bytes, sha256, mime_type: mediaType, verified }
}

export function damagedMedia(
  noun: 'image' | 'video',
  damage: string,
  kept: string | undefined,
): ContractError {
  const note = kept === undefined ? '' : ` It is kept as ${shownPath(kept)}.`
  return new ContractError('damaged_media', `The gateway sent a damaged ${noun}: ${damage}.${note}`, {
    billed: 'yes',
  })
}

/** @param subject its path, or what else names its place */
export function unverifiedNote(noun: 'image' | 'video', subject: string): string {
  return `Could not verify that the ${noun} is complete: ${subject} may be truncated.`
}

/**
 * Keeps what has arrived apart: it has been paid for. What the machine itself could not take is dropped. @returns the
 * error
 */
export async function keepDamaged(
  writer: Pick<MediaWriter<unknown>, 'commitDamaged' | 'discard'>,
  error: unknown,
): Promise<unknown> {
  const isOfContent =
    error instanceof ModelgateError &&
    !['io', 'usage', 'bug'].includes(error.exit) &&
    error.code !== 'reply_too_large'
  const kept = isOfContent ? await writer.commitDamaged() : undefined
  await writer.discard()
  if (kept === undefined || !(error instanceof ModelgateError)) return error
  return error.amend({
    message: `${asSentence(error.message)} The received data is kept as ${shownPath(kept)}.`,
  })
}
