import { createHash } from 'node:crypto'
import type { Fields, Field } from '../../contract/field.ts'
import { families } from '../../contract/families.ts'
import { maskLimits } from '../../contract/images.ts'
import { imageInfoHeadBytes } from '../../files/image-info.ts'
import { invalidField, RequestProblem } from './request-problem.ts'
import { digestOf } from './request-digest.ts'
import { closing } from './read-body.ts'
import type { Exchange, UploadedFile } from '../sandbox.ts'
import type { JsonObject } from '../json-value.ts'

/** The largest form: 1 GiB, more than all the files that any model takes. */
const maxFormBytes = 1024 ** 3
const formType = /^multipart\/form-data\s*;/i
/** Maximum length of a boundary (RFC 2046, section 5.1.1): every byte is compared with it. */
const boundary = /;\s*boundary=(?:"[^"]{1,70}"|[^\s";]{1,70})\s*(?:;|$)/i

/** Far above the size of any valid form. */
const limits = { fields: 100, files: 100, parts: 200 }

/** Files whose pixels are needed are kept completely, unless they are too large; of others only the header. */
const maxSourceBytes = Math.max(...families.flatMap(({ sources }) => sources?.below ?? []))

/** @param earlier the preceding files */
function keptBytes(field: string, earlier: readonly UploadedFile[]): number {
  const isMask = (name: string) => name === 'mask'
  const isFirst = !earlier.some((file) => isMask(file.field) === isMask(field))
  if (!isFirst) return imageInfoHeadBytes
  return isMask(field) ? maskLimits.below : maxSourceBytes
}

/**
 * Reads a form while it arrives; only the first image and the mask are kept completely.
 * @param fields the endpoint's table, with the types of the values
 * @throws RequestProblem 400 for an invalid form, 413 for one that is too large
 */
export async function readForm(exchange: Exchange, fields: Fields): Promise<void> {
  const { incoming } = exchange
  const contentType = incoming.headers['content-type']
  if (contentType === undefined || !formType.test(contentType) || !boundary.test(contentType)) {
    throw unreadable("Invalid 'Content-Type': must be multipart/form-data with a boundary.")
  }
  const { Busboy } = await import('@fastify/busboy')
  const form = new Busboy({ headers: { ...incoming.headers, 'content-type': contentType }, limits })
  const texts = new Map<string, string>()
  const files: UploadedFile[] = []
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let problem: RequestProblem | undefined
  let length = 0
  form.on('field', (name, value, nameIsCut, valueIsCut) => {
    if (texts.has(name)) problem ??= invalidField(name, 'was sent twice')
    if (nameIsCut || valueIsCut) problem ??= invalidField(name, 'is too long')
    texts.set(name, value)
  })
  form.on('file', (field, stream, _, __, declaredType) => {
    const index = files.length
    const maxKept = keptBytes(field, files)
    files.push({ field, declaredType, size: 0, digest: '', head: new Uint8Array(0) })
    const chunks: Buffer[] = []
    const hash = createHash('sha256')
    let [size, kept] = [0, 0]
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length
      hash.update(chunk)
      if (kept < maxKept) chunks.push(chunk.subarray(0, maxKept - kept))
      kept = Math.min(size, maxKept)
    })
    stream.on('end', () => {
      files[index] = { field, declaredType, size, digest: hash.digest('hex'), head: Buffer.concat(chunks) }
    })
    // The form reports the error itself.
    stream.on('error', () => {})
  })
  for (const event of ['partsLimit', 'fieldsLimit', 'filesLimit'] as const) {
    form.on(event, () => (problem ??= unreadable('The form has too many parts.')))
  }
  form.on('finish', () => {
    if (problem !== undefined) return reject(problem)
    const body = formValues(texts, fields)
    const digest = digestOf([body, files.map((file) => [file.field, file.declaredType, file.digest])])
    Object.assign(exchange, { body, files, size: length, digest })
    resolve()
  })
  form.on('error', (error) =>
    reject(unreadable(`The form could not be parsed: ${(error as Error).message}.`)),
  )
  incoming.on('error', reject)
  incoming.on('data', (chunk: Buffer) => {
    length += chunk.length
    if (length > maxFormBytes) {
      reject(new RequestProblem(413, `The form is larger than ${maxFormBytes} bytes.`, { headers: closing }))
    }
  })
  incoming.pipe(form)
  return promise.finally(() => {
    // Reads and discards the rest, so that the client can receive the reply.
    incoming.unpipe(form)
    incoming.resume()
  })
}

function unreadable(message: string): RequestProblem {
  return new RequestProblem(400, message, { headers: closing })
}

/**
 * Converts the text values of a form to the types in the endpoint's table. Values that cannot be converted stay text,
 * for the check to reject.
 */
function formValues(texts: ReadonlyMap<string, string>, fields: Fields): JsonObject {
  return Object.fromEntries(
    Array.from(texts, ([name, text]) => [
      name,
      Object.hasOwn(fields, name) ? valueOf(text, fields[name]!) : text,
    ]),
  )
}

function valueOf(text: string, { type }: Field): unknown {
  const isNumber = type === 'integer' || type === 'number'
  if (isNumber && /^-?\d+(\.\d+)?$/.test(text)) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}
