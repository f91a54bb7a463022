import { ModelgateError } from '../../../src/errors.ts'
import { ImageReply } from '../../../src/gateway/images/image-reply.ts'
import { createImageResults } from './album.ts'

/** What a reader makes of the bytes of a reply. */
export type ReadReply = Awaited<ReturnType<typeof readReply>>

/** Reads a reply that arrives in these pieces, to its end. Any other error than ours is thrown on. */
export async function readReply(pieces: Iterable<Uint8Array>) {
  const album = createImageResults()
  const reader = new ImageReply(album)
  let end: ModelgateError | undefined
  try {
    for (const piece of pieces) await reader.push(Buffer.from(piece))
    await reader.end()
    end = reader.failures[0]?.error
  } catch (thrown) {
    if (!(thrown instanceof ModelgateError)) throw thrown
    end = thrown
  } finally {
    await reader.discard()
  }
  return {
    /** `0: done 3f2a…`, `0/1: dropped` for partial images; in the order in which they were opened. */
    pictures: album.pictures.map(({ index, partial, state, bytes }) => {
      const name = partial === null ? String(index) : `${index}/${partial}`
      return `${name}: ${state} ${state === 'done' ? bytes.toString('latin1') : ''}`.trim()
    }),
    urls: album.urls,
    images: reader.images,
    results: reader.results,
    usage: album.reported.usage,
    done: reader.reader.done,
    /** The code of the error that ended the reading, or of the first image that is missing. */
    error: end?.code as string | undefined,
  }
}
