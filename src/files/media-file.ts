import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import { ContractError, asSentence, ModelgateError } from '../errors.ts'
import type { Shape } from './containers.ts'
import { describeContent, looksLikeText, extensionOf } from './media-type.ts'
import type { FileContext } from '../context.ts'
import type { SavedVideo } from '../events/video.ts'
import { shownPath } from './file-error.ts'
import { FileInspector, inspectBytes, type FileFacts } from './inspect-file.ts'
import { openAtomicFile, type AtomicFile, type Rescue, type WrittenFile } from './atomic-file.ts'

export interface MediaKind<Facts> {
  readonly noun: 'image' | 'video'
  factsOf(mediaType: string, shape: Shape): Facts
}

const unknownType = 'application/octet-stream'
const minUnknownBytes = 64
/** Enough for every signature of media, three packets of a transport stream among them. */
const signatureBytes = 512

/** Of an unknown type it may be valid all the same. @throws ContractError `damaged_media` */
export function describeMedia<Facts>({ noun, factsOf }: MediaKind<Facts>, inspector: FileInspector) {
  const { mediaType = unknownType, container, start } = inspector.end()
  if (start.length === 0) throw new ContractError('damaged_media', `The gateway sent an empty ${noun}.`)
  const mayBeMedia =
    mediaType === unknownType
      ? start.length >= minUnknownBytes && !looksLikeText(start)
      : mediaType.startsWith(`${noun}/`)
  if (!mayBeMedia) {
    const message = `The gateway sent ${describeContent(start)} instead of ${noun === 'image' ? 'an image' : 'a video'}.`
    const hint = { hint: 'Add --raw to see the reply as it was received.' }
    throw new ContractError('damaged_media', message, noun === 'image' ? hint : {})
  }
  return { mediaType, facts: factsOf(mediaType, container.shape), integrity: container.integrity() }
}

export type SavedMedia<Facts> = Facts &
  WrittenFile & { readonly mime_type: string; readonly verified: boolean }

export type MediaFile<Facts> = ReturnType<typeof writeMedia<Facts>>

export interface MediaWriter<Saved> extends Pick<MediaFile<unknown>, 'write' | 'commitDamaged' | 'discard'> {
  commit(isFramed?: boolean): Promise<Saved>
}

export interface MediaFileOptions extends Partial<Rescue> {
  readonly pathFor: (extension: string) => string
  /** Without it a file whose name is taken gets the next free one. */
  readonly force: boolean
  readonly renamed?: (planned: string, saved: string) => void
}

/** Created when the first bytes show that they are such media, so that an error page never becomes a file. */
export function openMediaFile<Facts>(
  context: FileContext,
  kind: MediaKind<Facts>,
  { pathFor, renamed, ...rest }: MediaFileOptions,
): MediaFile<Facts> {
  const options = { ...rest, numbered: true, hasArrived: true }
  const open = (extension: string) => openAtomicFile(context, pathFor(extension), options)
  return writeMedia(kind, open, ({ path, rescued }, extension) => {
    const planned = pathFor(extension)
    if (rescued === undefined && path !== planned) renamed?.(planned, path)
  })
}

/** @param open called once the first bytes have been identified */
export function writeMedia<Facts>(
  kind: MediaKind<Facts>,
  open: (extension: string) => Promise<AtomicFile>,
  saved: (file: WrittenFile, extension: string) => void = () => {},
) {
  let inspector = new FileInspector(signatureBytes)
  let waiting: Uint8Array[] = []
  let file: AtomicFile | undefined

  async function opened(mediaType: string): Promise<AtomicFile> {
    file ??= await open(extensionOf(mediaType))
    for (const bytes of waiting.splice(0)) await file.write(bytes)
    return file
  }
  const inspect = () => describeMedia(kind, inspector)
  /** Never throws; at any time. */
  async function discard(): Promise<void> {
    waiting = []
    await file?.discard()
    file = undefined
  }
  /** As `NAME.damaged.EXT`. Never throws. @returns its path; undefined where nothing was kept */
  async function commitDamaged(): Promise<string | undefined> {
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
    /** The bytes may be overwritten afterwards. @throws ContractError as soon as the first bytes show it; FileError */
    async write(bytes: Uint8Array): Promise<void> {
      inspector.add(bytes)
      if (file !== undefined) return await file.write(bytes)
      waiting.push(Buffer.from(bytes))
      if (inspector.known !== undefined) await opened(inspect().mediaType)
    },
    /** @throws ContractError for what is no such media */
    integrity: () => inspect().integrity,
    async restart(): Promise<void> {
      await discard()
      inspector = new FileInspector(signatureBytes)
    },
    /**
     * @param isFramed whether the transport showed where the content ends
     * @throws ContractError `damaged_media`: it is kept as `NAME.damaged.EXT` where it can be; FileError
     */
    async commit(isFramed = true): Promise<SavedMedia<Facts>> {
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

export function unverifiedNote(noun: 'image' | 'video', path: string): string {
  const subject = path === '-' ? 'what was written' : path
  return `Could not verify that the ${noun} is complete: ${subject} may be truncated.`
}

/** Keeps what has arrived apart, but for a failure of the machine itself. @returns the error, with its path */
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

const videoFormats = ['mp4', 'mov', 'webm', 'mkv', 'avi', 'mpg', 'ts', 'ogv', 'bin'] as const

export interface VideoFacts extends Omit<Shape, 'hasAlpha'> {
  readonly format: (typeof videoFormats)[number]
}

/** Gateways send MP4. Whether another container is whole cannot be judged. */
export const videoKind: MediaKind<VideoFacts> = {
  noun: 'video',
  factsOf(mediaType, { width, height, seconds }) {
    const format = videoFormats.find((name) => name === extensionOf(mediaType)) ?? 'bin'
    return { format, width, height, seconds }
  },
}

/** As it was described when saved; undefined if it is missing, damaged or not a video. */
export async function describeVideo(
  { cwd }: Pick<FileContext, 'cwd'>,
  path: string,
): Promise<SavedVideo | undefined> {
  const pieces = createReadStream(resolve(cwd, path), { highWaterMark: 1 << 20 })
  const found = await inspectBytes(path, pieces).catch(() => undefined)
  return found && savedAs(videoKind, found)
}
