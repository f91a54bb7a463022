import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import type { Context } from '../context.ts'
import { ModelgateError } from '../errors.ts'
import { openContainer, type Container, type Integrity, type Shape } from './containers.ts'
import { readError } from './file-error.ts'
import { describeInputFile } from './input-file.ts'
import { refineZip, sniffMediaType } from './media-type.ts'

export interface FileFacts extends Shape {
  readonly path: string
  readonly bytes: number
  readonly sha256: string
  /** Undefined for bytes of no known format. */
  readonly mediaType: string | undefined
  readonly integrity: Integrity
  /** Whether content credentials are in it; nothing of them is verified. */
  readonly credentials: boolean
}

/** Of any size, read once; a pipe, too. @throws ModelgateError as `describeInputFile` returns them */
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

export async function inspectBytes(
  path: string,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<FileFacts> {
  const hash = createHash('sha256')
  const inspector = new FileInspector(signatureBytes)
  let bytes = 0
  let credentials = false
  let end = Buffer.alloc(0)
  for await (const piece of pieces) {
    hash.update(piece)
    inspector.add(piece)
    const all = Buffer.concat([end, piece])
    credentials ||= all.includes(mark)
    end = Buffer.from(all.subarray(Math.max(0, all.length - mark.length + 1)))
    bytes += piece.length
  }
  const { mediaType, container } = inspector.end()
  return {
    path,
    bytes,
    sha256: hash.digest('hex'),
    mediaType: mediaType === undefined ? undefined : refineZip(mediaType, path),
    ...container.shape,
    integrity: container.integrity(),
    credentials,
  }
}

/** Enough for the brands of any AVIF, and to distinguish text from what only begins with text. */
const signatureBytes = 4096

interface Identified {
  readonly mediaType: string | undefined
  readonly container: Container
  readonly start: Buffer
}

export class FileInspector {
  known: Identified | undefined
  readonly #needed: number
  #start = Buffer.alloc(0)

  /** @param needed bytes to wait for before it is said what it is */
  constructor(needed: number) {
    this.#needed = needed
  }

  /** The bytes may be overwritten afterwards. */
  add(bytes: Uint8Array): void {
    if (this.known !== undefined) return this.known.container.add(bytes)
    this.#start = Buffer.concat([this.#start, bytes])
    if (this.#start.length >= this.#needed) this.known = this.end()
  }

  end(): Identified {
    if (this.known !== undefined) return this.known
    const start = this.#start
    const mediaType = sniffMediaType(start)
    const container = openContainer(mediaType ?? '')
    container.add(start)
    return { mediaType, container, start }
  }
}

/**
 * The description with which every C2PA manifest store begins, in whatever kind of file: a JUMBF box of the type `c2pa`
 * (C2PA technical specification, "Use of JUMBF"). 20 bytes are in no other place by chance.
 */
const mark = Buffer.concat([Buffer.from('jumdc2pa'), Buffer.from('00110010800000aa00389b71', 'hex')])
