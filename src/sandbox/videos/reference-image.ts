import { decodeImage } from '../../files/codecs.ts'
import { decodeBase64 } from '../../files/decode-base64.ts'
import { readImageInfo } from '../../files/image-info.ts'
import { RequestProblem } from '../http/problem.ts'
import { isObject, textOf } from '../json-value.ts'
import { crc32 } from 'node:zlib'

/** Of images of more pixels, the sandbox would need more memory than a stand-in should. The specification sets none. */
const maxPixels = 40_000_000

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
  const text = textOf(value['bytesBase64Encoded'])
  const bytes = decodeBase64(text)
  if (bytes === undefined) throw invalidField(`${field}.bytesBase64Encoded`, 'must be base64')
  return checkImage(bytes, `${field}.bytesBase64Encoded`, textOf(value['mimeType']))
}

/**
 * @param declaredType empty where none was given
 * @returns a fingerprint of the bytes
 * @throws RequestProblem 400 for bytes that are no PNG, JPEG or WebP, or of another type than declared
 */
export async function checkImage(bytes: Uint8Array, field: string, declaredType: string): Promise<number> {
  const info = readImageInfo(bytes)
  if (info === undefined) throw invalidField(field, 'must be a PNG, JPEG or WebP by its bytes')
  const { mediaType, width, height } = info
  if (declaredType !== '' && declaredType.replace('image/jpg', 'image/jpeg') !== mediaType) {
    throw invalidField(field, `must be of the declared type ${declaredType.slice(0, 40)}, not ${mediaType}`)
  }
  if (width * height > maxPixels) {
    throw invalidField(field, `must have at most ${maxPixels} pixels in the sandbox, not ${width}x${height}`)
  }
  await decodeImage(bytes, mediaType).catch(() => {
    throw invalidField(field, `is a damaged ${mediaType}`)
  })
  return crc32(bytes)
}

/** A value that breaks the contract, in the words of both envelopes. */
export function invalidField(field: string, problem: string): RequestProblem {
  const description = `Invalid '${field}': ${problem}.`
  return new RequestProblem(400, description, {
    param: field,
    code: 'invalid_value',
    details: [
      { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field, description }] },
    ],
  })
}
