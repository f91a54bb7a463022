import { crc32 } from 'node:zlib'
import { decodeBase64 } from '../../files/decode-base64.ts'
import { readImageInfo } from '../../files/image-info.ts'
import { invalidField } from '../http/request-problem.ts'
import { assertPixels, decodeSource } from '../images/check-sources.ts'
import { isObject, textOf } from '../json-value.ts'

/**
 * Holds an image in base64, as an instance carries it, to what it says it is: it really decodes.
 * @param field where it stands in the request: `instances[0].image`
 * @returns a fingerprint of the bytes
 * @throws RequestProblem 400
 */
export async function checkImageObject(value: unknown, field: string): Promise<number> {
  if (!isObject(value)) throw invalidField(field, 'must be an object')
  if (value['uri'] !== undefined || value['gcsUri'] !== undefined) {
    throw invalidField(field, 'must hold bytesBase64Encoded; the sandbox fetches no addresses')
  }
  const bytes = decodeBase64(textOf(value['bytesBase64Encoded']))
  if (bytes === undefined) throw invalidField(`${field}.bytesBase64Encoded`, 'must be base64')
  return checkImage(bytes, `${field}.bytesBase64Encoded`, textOf(value['mimeType']))
}

/**
 * @param declaredType empty where none was given
 * @returns a fingerprint of the bytes
 * @throws RequestProblem 400 for bytes that are no PNG, JPEG or WebP, or of another type than declared
 */
export async function checkImage(bytes: Uint8Array, field: string, declaredType: string): Promise<number> {
  const problemOf = (problem: string) => invalidField(field, problem)
  const info = readImageInfo(bytes)
  if (info === undefined) throw problemOf('must be a PNG, JPEG or WebP by its bytes')
  if (declaredType !== '' && declaredType.replace('image/jpg', 'image/jpeg') !== info.mediaType) {
    throw problemOf(`must be of the declared type ${declaredType.slice(0, 40)}, not ${info.mediaType}`)
  }
  assertPixels(info, problemOf)
  await decodeSource(bytes, info, problemOf)
  return crc32(bytes)
}
