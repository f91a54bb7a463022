import type { Clock } from '../../context.ts'
import { urlLifetimeMinutes } from '../../contract/images.ts'
import { createBoundedMap } from '../bounded-map.ts'
import { RequestProblem } from '../http/request-problem.ts'
import { servedBytes, type ServedBytes } from '../http/serve-bytes.ts'
import { seededHex } from '../seeded-random.ts'

export type ImageFormat = 'png' | 'jpeg' | 'webp'

/** A picture in the requested format. */
export interface EncodedPicture {
  readonly bytes: Uint8Array
  readonly format: ImageFormat
  readonly background: 'transparent' | 'opaque'
}

/** Maximum memory for result images; beyond it the oldest are dropped. */
const maxStoredBytes = 256 * 1024 * 1024
const maxStored = 10_000

/** The images that can be fetched by URL, for 60 minutes of the sandbox's clock. */
export interface ImageStore {
  /** Stores an image and returns the path and query of its URL. */
  keep(id: string, picture: EncodedPicture): string
  /** @throws RequestProblem 403 for an expired or unsigned URL, 404 for an unknown one */
  find(file: string, query: URLSearchParams): ServedBytes
}

const extensions = { png: 'png', jpeg: 'jpg', webp: 'webp' } as const

export function createImageStore(clock: Clock, seed: number): ImageStore {
  const images = createBoundedMap<ServedBytes>(maxStored, maxStoredBytes)
  const signatureOf = (file: string, expiry: string) => seededHex(32, seed, 'address', file, expiry)
  return {
    keep(id, { bytes, format }) {
      const file = `${id}.${extensions[format]}`
      images.set(file, servedBytes(bytes, `image/${format}`), bytes.length)
      const expiry = new Date(clock.now() + urlLifetimeMinutes * 60_000).toISOString()
      return `/sandbox/images/${file}?${new URLSearchParams({ se: expiry, sig: signatureOf(file, expiry) })}`
    },
    find(file, query) {
      const expiry = query.get('se') ?? ''
      if (query.get('sig') !== signatureOf(file, expiry)) {
        throw new RequestProblem(403, 'The signature of this address is invalid.', {
          code: 'invalid_signature',
        })
      }
      if (clock.now() >= Date.parse(expiry)) {
        throw new RequestProblem(403, `This address expired at ${expiry}.`, { code: 'url_expired' })
      }
      const image = images.get(file)
      if (image === undefined) throw new RequestProblem(404, 'There is no such image.')
      return image
    },
  }
}
