import { ModelgateError } from '../../../src/errors.ts'
import { ImageReply } from '../../../src/gateway/images/image-reply.ts'
import { createImageResults } from './album.ts'

/** What a reader makes of the bytes of a reply. */
export interface ReadReply {
  /** `0: done 3f2a…`, `0/1: dropped` for partial images; in the order in which they were opened. */
  readonly pictures: readonly string[]
  readonly urls: readonly { readonly index: number; readonly url: string }[]
  readonly images: ImageReply['images']
  readonly results: readonly unknown[]
  readonly usage: unknown
  readonly done: boolean
  /** The code of the error that ended the reading, or of the first image that is missing. */
  readonly error: string | undefined
}

/** Reads a reply that arrives in these pieces, to its end. Any other error than ours is thrown on. */
export async function readReply(pieces: Iterable<Uint8Array>, count?: number): Promise<ReadReply> {
  const album = createImageResults(count === undefined ? {} : { count })
  const reader = new ImageReply(album)
  let error: string | undefined
  try {
    for (const piece of pieces) await reader.push(Buffer.from(piece))
    await reader.end()
    error = reader.failures[0]?.error.code
  } catch (thrown) {
    if (!(thrown instanceof ModelgateError)) throw thrown
    error = thrown.code
  } finally {
    await reader.discard()
  }
  return {
    pictures: album.pictures.map(({ index, partial, state, bytes }) => {
      const name = partial === null ? String(index) : `${index}/${partial}`
      return `${name}: ${state} ${state === 'done' ? bytes.toString('latin1') : ''}`.trim()
    }),
    urls: album.urls,
    images: reader.images,
    results: reader.results,
    usage: album.reported.usage,
    done: reader.reader.done,
    error,
  }
}
