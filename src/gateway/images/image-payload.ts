import { createPercentDecoder } from '../download/data-url.ts'
import { keepDamaged } from '../../files/media-file.ts'
import { badBase64, createBase64Decoder } from './base64-decoder.ts'
import type { ImageWriter } from './image-receiver.ts'

/** The text of one image on its way into a writer. */
export interface ImagePayload {
  /** ASCII bytes, cut anywhere. @throws ContractError `bad_base64`, and what the writer throws */
  push(text: Buffer): Promise<void>
  /** The text has ended. Resolves with the writer, not yet done; undefined when there was nothing in it. */
  end(): Promise<ImageWriter | undefined>
  /** Hands over what has come so far. */
  flush(): Promise<void>
  /** What has come is not whole. @returns the error, with where that is kept */
  keepDamaged(error: unknown): Promise<unknown>
  /** Gives the image up. */
  drop(): Promise<void>
}

/** The scheme and media type of a data URL are shorter than this. */
const longestHead = 1024

/**
 * Decodes base64, or a data URL that holds it (quirk 15), into a writer that is opened when there are bytes for it.
 * @param open is told whether the text is a data URL
 * @param begun what has come of the text already
 */
export function createImagePayload(
  open: (isDataUrl: boolean) => Promise<ImageWriter>,
  begun = '',
): ImagePayload {
  let writer: ImageWriter | undefined
  let isDataUrl = false
  /** What has come before it is known where the base64 begins. */
  let head: string | undefined = begun

  const decoder = createBase64Decoder(async (bytes) => {
    writer ??= await open(isDataUrl)
    await writer.write(bytes)
  })
  const escapes = createPercentDecoder()
  const decode = (text: Buffer) => decoder.push(isDataUrl ? escapes.push(text) : text)
  const begin = async (final: boolean) => {
    const text = head!.trimStart()
    const start = base64Start(text, final)
    if (start === undefined) return
    head = undefined
    isDataUrl = start > 0
    await decode(Buffer.from(text.slice(start), 'latin1'))
  }
  return {
    async push(text) {
      if (head === undefined) return decode(text)
      head += text.toString('latin1')
      await begin(false)
    },
    async end() {
      if (head !== undefined) await begin(true)
      await decoder.push(escapes.end())
      await decoder.end()
      return writer
    },
    flush: () => decoder.flush(),
    async keepDamaged(error) {
      return writer === undefined ? error : await keepDamaged(writer, error)
    },
    async drop() {
      await writer?.drop()
      writer = undefined
    },
  }
}

const scheme = 'data:'

/** Where the base64 of a text begins; undefined as long as that cannot be told. */
function base64Start(text: string, final: boolean): number | undefined {
  const begun = text.slice(0, scheme.length).toLowerCase()
  if (begun !== scheme) return !final && scheme.startsWith(begun) ? undefined : 0
  const comma = text.indexOf(',')
  if (comma === -1 && !final && text.length < longestHead) return undefined
  if (!/;\s*base64\s*$/i.test(text.slice(0, Math.max(comma, 0)))) throw badBase64()
  return comma + 1
}
