import { ContractError, asSentence, ModelgateError } from '../errors.ts'
import type { Integrity, Shape } from './containers.ts'
import { describeContent, looksLikeText, extensionOf } from './media-type.ts'
import type { FileContext } from '../context.ts'
import { shownPath } from './file-error.ts'
import { FileInspector, type FileFacts } from './inspect-file.ts'
import { openAtomicFile, type AtomicFile, type Rescue, type WrittenFile } from './atomic-file.ts'

/** The kind of media, images or videos: how they are recognized and described. */
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
 * What has arrived of media so far. The type is `application/octet-stream` for a format that is not known, which may be a
 * valid one all the same.
 * @throws ContractError `damaged_media` for nothing, and for what is known to be something else
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

/** The facts reported about saved media. */
export type SavedMedia<Facts> = Facts &
  WrittenFile & {
    readonly mime_type: string
    /** Whether the file is known to be complete. */
    readonly verified: boolean
  }

/** Writes media. Call `write` for each piece, then end with `commit`, `commitDamaged` or `discard`. */
export interface MediaWriter<Saved> {
  /**
   * The bytes may be overwritten once the promise is settled, and not before that is it called again.
   * @throws ContractError `damaged_media` as soon as the first bytes show it
   * @throws FileError, UsageError as `openAtomicFile` does
   */
  write(bytes: Uint8Array): Promise<void>
  /**
   * Checks what has arrived, and gives it its name.
   * @param isFramed whether the transport showed where the content ends; true unless given
   * @throws ContractError `damaged_media`; where it can be, it is kept as `NAME.damaged.EXT`
   * @throws FileError
   */
  commit(isFramed?: boolean): Promise<Saved>
  /**
   * Keeps what has arrived as `NAME.damaged.EXT`: it is incomplete, and all there is. Never throws.
   * @returns its path; undefined where there is nothing to keep, or it went to a pipe, or cannot be kept
   */
  commitDamaged(): Promise<string | undefined>
  /** Removes what was written. Never throws, may be called at any time and more than once. */
  discard(): Promise<void>
}

/** Media being written to their target. */
export interface MediaFile<Facts> extends MediaWriter<SavedMedia<Facts>> {
  readonly noun: MediaKind<Facts>['noun']
  /** Whether all of it has arrived, as far as the container shows. @throws ContractError for what is no such media */
  integrity(): Integrity
  /** Forgets what was written, to be written again from its beginning. */
  restart(): Promise<void>
}

export interface MediaFileOptions extends Partial<Rescue> {
  /** The path for an extension (without dot), which is known only when the first bytes have arrived. */
  readonly pathFor: (extension: string) => string
  /** Replace an existing file. Without it a file whose name is taken gets the next free one: `NAME-2`, `NAME-3`, … */
  readonly force: boolean
  /** Called when the file was saved under another name, because the planned one had been taken in the meantime. */
  readonly renamed?: (planned: string, saved: string) => void
}

/**
 * Prepares a file for media of any size. It is created (under a temporary name in the target's folder) when the first
 * bytes show that they are such media, so that an error page never becomes a file. The planned name is only for what
 * has been checked.
 */
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

/**
 * Writes media to what is opened once the first bytes have been identified.
 * @param open gets the extension, without dot
 */
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

/** Media that are there already, described as when they were saved; undefined for another kind of file, and a damaged one. */
export function savedAs<Facts>(
  kind: MediaKind<Facts>,
  { path, bytes, sha256, mediaType = unknownType, integrity, ...shape }: FileFacts,
): SavedMedia<Facts> | undefined {
  const isOfKind = mediaType === unknownType || mediaType.startsWith(`${kind.noun}/`)
  if (!isOfKind || bytes === 0 || integrity.damage !== undefined) return undefined
  const verified = integrity.state === 'whole'
  return { ...kind.factsOf(mediaType, shape), path, bytes, sha256, mime_type: mediaType, verified }
}

/** The content has arrived, and is damaged. @param kept the path of what was saved of it */
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

/** A warning about what is kept although it cannot be verified. @param subject its path, or what else names its place */
export function unverifiedNote(noun: 'image' | 'video', subject: string): string {
  return `Could not verify that the ${noun} is complete: ${subject} may be truncated.`
}

/**
 * Ends a writer whose content has not arrived complete: what has arrived is kept apart, since it is all there is of what
 * has been paid for. What the machine itself could not take is dropped.
 * @returns the error, with where that is
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
