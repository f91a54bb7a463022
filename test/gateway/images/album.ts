import type { ImageReceiver, ImageWriter } from '../../../src/gateway/images/receive-images.ts'

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
  return {
    ...(count === undefined ? {} : { count }),
    pictures,
    urls,
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
