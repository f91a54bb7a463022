import { ContractError, asSentence, ModelgateError } from '../errors.ts'
import type { ContainerReader, Integrity } from './byte-steps.ts'
import { describeContent, looksLikeText, sniffMediaType, extensionOf } from './media-type.ts'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { basename, resolve } from 'node:path'
import type { Context, FileContext } from '../context.ts'
import type { AtomicFile, WrittenFile } from './atomic-file.ts'
import { shownPath } from './file-error.ts'
import { numberedName } from './file-name.ts'
import { openResultFile, type Rescue } from './open-atomic-file.ts'

/** The kind of media, images or videos: how they are recognized, checked and described. */
export interface MediaKind<Facts> {
  readonly noun: 'image' | 'video'
  createInspector(): MediaInspector<Facts>
}

/** Inspects media while they are being written. */
export interface MediaInspector<Facts> {
  /**
   * Takes the next bytes, in pieces of any size. Gives the media type once the first bytes have shown it;
   * `application/octet-stream` for a format that is not known, which may be a valid one all the same.
   * @throws ContractError `not_an_image`, `not_a_video` for what is known to be something else
   */
  add(bytes: Uint8Array): string | undefined
  /**
   * What has arrived so far; more may be added afterwards.
   * @throws ContractError the same; `empty_image`, `empty_video`
   */
  inspect(): Inspected<Facts>
}

export interface Inspected<Facts> {
  readonly mediaType: string
  readonly facts: Facts
  readonly integrity: Integrity
}

interface KindParts<Facts, Reader extends ContainerReader> {
  readonly noun: 'image' | 'video'
  /** Enough bytes to detect every known format; nothing of an unknown format is shorter. */
  readonly signatureBytes: number
  /** How many of the first bytes are kept for `describe`. */
  readonly headBytes?: number
  readonly openReader: (mediaType: string) => Reader
  readonly describe: (mediaType: string, reader: Reader, head: Buffer) => Omit<Inspected<Facts>, 'mediaType'>
  /** The hint for content that is something else. */
  readonly hint?: string
}

/** Enough for three packets of a transport stream; what is still unknown then stays unknown. */
const longSignatureBytes = 512

export function mediaKind<Facts, Reader extends ContainerReader>(
  parts: KindParts<Facts, Reader>,
): MediaKind<Facts> {
  return { noun: parts.noun, createInspector: () => createInspector(parts) }
}

function createInspector<Facts, Reader extends ContainerReader>({
  noun,
  signatureBytes,
  headBytes = longSignatureBytes,
  openReader,
  describe,
  hint,
}: KindParts<Facts, Reader>): MediaInspector<Facts> {
  const head = Buffer.allocUnsafe(headBytes)
  let headLength = 0
  let known: { readonly mediaType: string; readonly reader: Reader } | undefined

  /** @param isAll no more bytes will come */
  function identify(isAll: boolean): typeof known {
    const start = head.subarray(0, headLength)
    if (start.length < signatureBytes && !isAll) return undefined
    const sniffed = sniffMediaType(start)
    if (sniffed === undefined && start.length < longSignatureBytes && !isAll) return undefined
    const mayBeMedia =
      sniffed === undefined
        ? start.length >= signatureBytes && !looksLikeText(start)
        : sniffed.startsWith(`${noun}/`)
    if (!mayBeMedia) throw notMedia(noun, start, hint)
    const mediaType = sniffed ?? 'application/octet-stream'
    const reader = openReader(mediaType)
    reader.add(start)
    return { mediaType, reader }
  }
  return {
    add(bytes) {
      const kept = bytes.subarray(0, head.length - headLength)
      // A copy, because the caller may reuse the buffer.
      head.set(kept, headLength)
      headLength += kept.length
      if (known !== undefined) known.reader.add(bytes)
      else {
        known = identify(false)
        known?.reader.add(bytes.subarray(kept.length))
      }
      return known?.mediaType
    },
    inspect() {
      if (headLength === 0) {
        throw new ContractError(`empty_${noun}`, `The gateway sent an empty ${noun}.`)
      }
      const { mediaType, reader } = known ?? identify(true)!
      return { mediaType, ...describe(mediaType, reader, head.subarray(0, headLength)) }
    },
  }
}

function notMedia(noun: 'image' | 'video', start: Buffer, hint: string | undefined): ContractError {
  const article = withArticle(noun)
  return new ContractError(
    `not_${article.replace(' ', '_')}`,
    `The gateway sent ${describeContent(start)} instead of ${article}.`,
    hint === undefined ? {} : { hint },
  )
}

function withArticle(noun: 'image' | 'video'): string {
  return noun === 'image' ? 'an image' : 'a video'
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
   * @throws ContractError `not_an_image`, `not_a_video` as soon as the first bytes show it
   * @throws FileError, UsageError as `openAtomicFile` does
   */
  write(bytes: Uint8Array): Promise<void>
  /**
   * Checks what has arrived, and gives it its name.
   * @param isFramed whether the transport showed where the content ends; true unless given
   * @throws ContractError `empty_image`, `not_an_image`; `damaged_image` for what is kept as `NAME.damaged.EXT`
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
  /** Whether all of it has arrived, as far as the container shows. @throws ContractError as `MediaInspector.inspect` */
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
  let inspector = kind.createInspector()
  const waiting: Uint8Array[] = []
  let file: AtomicFile | undefined
  let planned = ''

  async function open(mediaType: string): Promise<AtomicFile> {
    planned = pathFor(extensionOf(mediaType))
    file = await openResultFile(context, planned, {
      ...options,
      spareName: (count) => numberedName(basename(planned), count),
    })
    for (const bytes of waiting.splice(0)) await file.write(bytes)
    return file
  }
  async function discard() {
    waiting.length = 0
    await file?.discard()
    file = undefined
  }
  async function orDiscard<Value>(step: () => Promise<Value>): Promise<Value> {
    try {
      return await step()
    } catch (error) {
      await discard()
      throw error
    }
  }
  async function commitDamaged() {
    if (file === undefined && waiting.length === 0) return undefined
    try {
      const written = file ?? (await open(inspector.inspect().mediaType))
      const kept = await written.commitDamaged()
      return written.isDirect ? undefined : kept.path
    } catch {
      return undefined
    } finally {
      await discard()
    }
  }
  return {
    noun: kind.noun,
    write: (bytes) =>
      orDiscard(async () => {
        const mediaType = inspector.add(bytes)
        if (file !== undefined) return await file.write(bytes)
        waiting.push(Buffer.from(bytes))
        if (mediaType !== undefined) await open(mediaType)
      }),
    integrity: () => inspector.inspect().integrity,
    async restart() {
      await discard()
      inspector = kind.createInspector()
    },
    commit: (isFramed = true) =>
      orDiscard(async () => {
        const { mediaType, facts, integrity } = inspector.inspect()
        const damage = damageOf({ mediaType, integrity }, isFramed)
        if (damage !== undefined) throw damagedMedia(kind.noun, damage, await commitDamaged())
        const saved = await (file ?? (await open(mediaType))).commit()
        if (saved.rescued === undefined && saved.path !== planned) renamed?.(planned, saved.path)
        return { ...facts, ...saved, mime_type: mediaType, verified: isVerified(integrity, isFramed) }
      }),
    commitDamaged,
    discard,
  }
}

/**
 * Media that are there already, described as when they were saved; `verified` says what their container alone shows.
 * @throws ContractError as `MediaInspector.inspect`, and the error of the system
 */
export async function inspectFile<Facts>(
  { cwd }: Pick<Context, 'cwd'>,
  kind: MediaKind<Facts>,
  path: string,
): Promise<{ readonly file: SavedMedia<Facts>; readonly damage: string | undefined }> {
  const inspector = kind.createInspector()
  const hash = createHash('sha256')
  let bytes = 0
  const chunks: AsyncIterable<Buffer> = createReadStream(resolve(cwd, path), { highWaterMark: 1 << 20 })
  for await (const chunk of chunks) {
    inspector.add(chunk)
    hash.update(chunk)
    bytes += chunk.length
  }
  const { mediaType, facts, integrity } = inspector.inspect()
  const written = { path, bytes, sha256: hash.digest('hex') }
  const file = { ...facts, ...written, mime_type: mediaType, verified: integrity.state === 'whole' }
  return { file, damage: integrity.damage }
}

/**
 * What is wrong with media that have come. What has no known format is kept only where it may have been cut anywhere, so
 * that nobody can judge it.
 */
export function damageOf(
  { mediaType, integrity }: Pick<Inspected<unknown>, 'mediaType' | 'integrity'>,
  isFramed: boolean,
): string | undefined {
  const isUnknown = isFramed && mediaType === 'application/octet-stream'
  return integrity.damage ?? (isUnknown ? 'it is of no known format' : undefined)
}

/** A container that does not say where it ends is taken to be complete when the transport says so. */
export function isVerified({ state }: Integrity, isFramed: boolean): boolean {
  return state === 'whole' || (state === 'unknown' && isFramed)
}

/** The content has arrived, and is damaged. @param kept the path of what was saved of it */
export function damagedMedia(
  noun: 'image' | 'video',
  damage: string,
  kept: string | undefined,
): ContractError {
  const note = kept === undefined ? '' : ` It is kept as ${shownPath(kept)}.`
  return new ContractError(`damaged_${noun}`, `The gateway sent a damaged ${noun}: ${damage}.${note}`, {
    billed: 'yes',
  })
}

/** A warning about what is kept although it cannot be verified. @param subject its path, or what else names its place */
export function unverifiedNote(noun: 'image' | 'video', subject: string): string {
  return `Could not verify that the ${noun} is complete: ${subject} may be truncated.`
}

/** Errors after which the partial content is not kept: it is larger than allowed. */
const notWorthKeeping = new Set(['download_too_large', 'image_too_large'])

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
    !notWorthKeeping.has(error.code)
  const kept = isOfContent ? await writer.commitDamaged() : undefined
  await writer.discard()
  if (kept === undefined || !(error instanceof ModelgateError)) return error
  return error.amend({
    message: `${asSentence(error.message)} The received data is kept as ${shownPath(kept)}.`,
  })
}
