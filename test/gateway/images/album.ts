import type { ImageReceiver, ImageWriter, ReceivedImage } from '../../../src/gateway/images/image-reply.ts'

/** What became of one image that was opened. */
export interface Picture {
  readonly index: number
  readonly partial: number | null
  readonly bytes: Buffer
  readonly state: 'open' | 'done' | 'kept' | 'dropped'
}

/** A receiver that keeps everything. */
export interface ImageResults extends ImageReceiver {
  readonly pictures: readonly Picture[]
  readonly urls: readonly { readonly index: number; readonly url: string }[]
  readonly images: readonly ReceivedImage[]
  /** As reported last. */
  readonly reported: { usage: unknown }
}

export interface AlbumOptions {
  readonly count?: number
  /** Called for each write, for instance to throw. */
  readonly onWrite?: (picture: Picture) => void
  readonly onDone?: (picture: Picture) => void
}

export function createImageResults({ count, onWrite, onDone }: AlbumOptions = {}): ImageResults {
  const pictures: Picture[] = []
  const urls: { index: number; url: string }[] = []
  const images: ReceivedImage[] = []
  const reported = { usage: null as unknown }
  return {
    ...(count === undefined ? {} : { count }),
    pictures,
    urls,
    images,
    reported,
    received: async (image) => void images.push(image),
    usage: (usage) => void (reported.usage = usage),
    async open({ index, partial }): Promise<ImageWriter> {
      const chunks: Uint8Array[] = []
      const picture = { index, partial, bytes: Buffer.alloc(0), state: 'open' as Picture['state'] }
      pictures.push(picture)
      return {
        async write(bytes) {
          if (picture.state !== 'open') throw new Error('written to after its end')
          chunks.push(Buffer.from(bytes))
          onWrite?.(picture)
        },
        async commit() {
          if (picture.state !== 'open') throw new Error(`committed when ${picture.state}`)
          onDone?.(picture)
          picture.state = 'done'
          picture.bytes = Buffer.concat(chunks)
        },
        async commitDamaged() {
          picture.state = 'kept'
          picture.bytes = Buffer.concat(chunks)
          return undefined
        },
        async discard() {
          if (picture.state !== 'kept') picture.state = 'dropped'
        },
      }
    },
    url: (item) => void urls.push(item),
  }
}
