import { readdirSync } from 'node:fs'
import { noisyPng } from '../support/image-bytes.ts'

/** Several writes long. */
export const hero = noisyPng(500, 500)

/** A reply that holds these images. */
export const resultOf = (...images: readonly Uint8Array[]) => ({
  created: 1,
  data: images.map((image) => ({ b64_json: Buffer.from(image).toString('base64') })),
})

/** The words of a call that creates an image. */
export const create = (url: string, ...words: readonly string[]) =>
  ['image', 'create', '-m', 'm', '--base-url', url].concat(words, 'A kite')

/** The temporary files in a folder. */
export const partsIn = (folder: string) => readdirSync(folder).filter((name) => name.endsWith('.mgpart'))
