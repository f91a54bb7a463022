import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import type { Context } from '../context.ts'
import { ContractError, ModelgateError } from '../errors.ts'
import type { Integrity } from './byte-steps.ts'
import { readError } from './file-error.ts'
import { imageInfoHeadBytes, imageKind, readImageInfo, type ImageFacts } from './image-info.ts'
import { describeInputFile } from './input-file.ts'
import type { MediaInspector } from './media-file.ts'
import { refineZip, sniffMediaType } from './media-type.ts'
import { videoKind, type VideoFacts } from './video-info.ts'

/** What a file is, by its bytes alone. */
export interface FileFacts {
  readonly path: string
  readonly bytes: number
  readonly sha256: string
  /** Undefined for bytes of no known format. */
  readonly mediaType: string | undefined
  /** Of an image or a video that could be read. */
  readonly media: ImageFacts | VideoFacts | undefined
  /** Whether pixels of an image can be transparent; undefined when that is not known. */
  readonly hasAlpha: boolean | undefined
  readonly integrity: Integrity
  /** Whether content credentials are in it; nothing of them is verified. */
  readonly credentials: boolean
}

/**
 * Inspects a file of any size while it is read once: a few MiB of it are kept. A pipe is read, too.
 * @throws ModelgateError as `describeInputFile` returns them, and the reason of the context's signal
 */
export async function inspectAnyFile(
  context: Pick<Context, 'cwd' | 'clock' | 'signal'>,
  path: string,
): Promise<FileFacts> {
  const found = await describeInputFile(context, path, { maxBytes: Infinity, headBytes: 1 })
  if (found instanceof ModelgateError) throw found
  if (found.content !== undefined) return await inspectBytes(path, [found.content])
  const { signal, cwd } = context
  try {
    return await inspectBytes(path, createReadStream(resolve(cwd, path), { highWaterMark: 1 << 20, signal }))
  } catch (error) {
    signal.throwIfAborted()
    throw readError(error, path)
  }
}

/** Enough for every signature, and for the brands of any AVIF. */
const signatureBytes = 4096

/** The same of bytes that come from elsewhere. @param path as it is reported */
export async function inspectBytes(
  path: string,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<FileFacts> {
  const hash = createHash('sha256')
  const finder = new CredentialFinder()
  const head = Buffer.allocUnsafe(imageInfoHeadBytes)
  let headLength = 0
  let bytes = 0
  let known: Known | undefined
  for await (const piece of pieces) {
    hash.update(piece)
    finder.add(piece)
    bytes += piece.length
    const kept = piece.subarray(0, head.length - headLength)
    head.set(kept, headLength)
    headLength += kept.length
    if (known !== undefined) known.add(piece)
    else if (headLength >= signatureBytes) {
      known = identify(head.subarray(0, headLength))
      known.add(piece.subarray(kept.length))
    }
  }
  known ??= identify(head.subarray(0, headLength))
  const { mediaType } = known
  return {
    path,
    bytes,
    sha256: hash.digest('hex'),
    mediaType: mediaType === undefined ? undefined : refineZip(mediaType, path),
    ...known.inspect(),
    hasAlpha: readImageInfo(head.subarray(0, headLength))?.hasAlpha,
    credentials: finder.isFound,
  }
}

interface Known {
  readonly mediaType: string | undefined
  add(bytes: Uint8Array): void
  inspect(): Pick<FileFacts, 'media' | 'integrity'>
}

/** Finds out what the bytes are, and begins to read them as that. */
function identify(start: Buffer): Known {
  const mediaType = sniffMediaType(start)
  let inspector: MediaInspector<ImageFacts | VideoFacts> | undefined
  if (mediaType?.startsWith('image/')) inspector = imageKind.createInspector()
  else if (mediaType?.startsWith('video/')) inspector = videoKind.createInspector()
  const known: Known = {
    mediaType,
    add(bytes) {
      try {
        inspector?.add(bytes)
      } catch (error) {
        if (!(error instanceof ContractError)) throw error
        // It sees less of the beginning, and may take it for something else.
        inspector = undefined
      }
    },
    inspect() {
      try {
        const found = inspector?.inspect()
        return { media: found?.facts, integrity: found?.integrity ?? unchecked }
      } catch (error) {
        if (error instanceof ContractError) return { media: undefined, integrity: unchecked }
        throw error
      }
    },
  }
  known.add(start)
  return known
}

const unchecked: Integrity = { state: 'unchecked' }

/**
 * The description with which every C2PA manifest store begins, in whatever kind of file: a JUMBF box of the type `c2pa`
 * (C2PA technical specification, "Use of JUMBF"). 20 bytes are in no other place by chance.
 */
const mark = Buffer.concat([Buffer.from('jumdc2pa'), Buffer.from('00110010800000aa00389b71', 'hex')])

/** Looks for content credentials in a file while it is read; nothing of them is verified. */
class CredentialFinder {
  isFound = false
  #end = Buffer.alloc(0)

  /** The next bytes, in pieces of any size. */
  add(bytes: Uint8Array): void {
    if (this.isFound) return
    const seam = Buffer.concat([this.#end, bytes.subarray(0, mark.length - 1)])
    const { buffer, byteOffset, length } = bytes
    this.isFound = seam.includes(mark) || Buffer.from(buffer, byteOffset, length).includes(mark)
    const last = length < mark.length ? seam : bytes
    this.#end = Buffer.from(last.subarray(Math.max(0, last.length - mark.length + 1)))
  }
}
