import { createHash } from 'node:crypto'
import { pipeline } from 'node:stream/promises'
import { families } from '../../contract/families.ts'
import type { Field, Fields } from '../../contract/field.ts'
import { maskLimits } from '../../contract/images.ts'
import { imageInfoHeadBytes } from '../../files/image-info.ts'
import { isDeeperThan, maxJsonDepth } from '../../json.ts'
import { maxRequestBytes, maxRequestMebibytes } from '../../limits.ts'
import { digestOf, type JsonObject, isObject, jsonIn } from '../json-value.ts'
import type { Exchange, UploadedFile } from '../sandbox.ts'
import { invalidField, limitExceeded, RequestProblem } from './request-problem.ts'

/** The rest of a rejected body may still arrive, so its connection cannot be reused. */
const closing = { connection: 'close' }

/** @throws RequestProblem 413 as `readBytes`; 400 for what is no JSON object, holds too much or is nested too deeply */
export async function readJsonBody(exchange: Exchange): Promise<void> {
  const bytes = await readBytes(exchange)
  const mayBeEmpty = exchange.record.endpoint === 'response-cancel'
  exchange.body = bytes.length === 0 && mayBeEmpty ? {} : parseObject(bytes)
  exchange.size = bytes.length
  exchange.digest = digestOf(exchange.body)
}

/** @throws RequestProblem 413 for a body of more than `maxRequestBytes`, which would fill the memory */
export async function readBytes({ incoming, headers }: Exchange): Promise<Buffer> {
  const tooLarge = () =>
    new RequestProblem(413, `The request body is larger than ${maxRequestMebibytes} MiB.`, {
      headers: closing,
    })
  if (Number(headers['content-length'] ?? 0) > maxRequestBytes) throw tooLarge()
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxRequestBytes) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function parseObject(bytes: Buffer): JsonObject {
  assertModest(bytes)
  const value = jsonIn(bytes)
  if (value === undefined) throw new RequestProblem(400, 'The JSON body of the request could not be parsed.')
  if (!isObject(value)) throw new RequestProblem(400, 'The body of the request must be a JSON object.')
  if (isDeeperThan(value, maxJsonDepth)) throw tooMuch(`nests deeper than ${maxJsonDepth} levels`)
  return value
}

/** Each takes much more memory than the two bytes that it needs on the wire. */
const maxValues = 100_000

/** Refuses JSON that would fill the memory before it is parsed. Invalid JSON is found by the parser. */
function assertModest(bytes: Buffer): void {
  let isInString = false
  let values = 0
  for (let at = 0; at < bytes.length; at++) {
    const character = bytes[at]
    if (character === 0x22) isInString = !isInString
    else if (isInString) at += character === 0x5c ? 1 : 0
    // A comma, or an opening bracket or brace.
    else if (character === 0x2c || character === 0x5b || character === 0x7b) values++
    if (values > maxValues) throw tooMuch(`holds more than ${maxValues} values`)
  }
}

function tooMuch(problem: string): RequestProblem {
  return limitExceeded(`The body of the request ${problem}.`, closing)
}

/** More than all the files that any model takes. */
const maxFormBytes = 1024 ** 3
/** With a boundary of at most 70 characters (RFC 2046, section 5.1.1): every byte is compared with it. */
const formType = /^multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"[^"]{1,70}"|[^\s";]{1,70})\s*(?:;|$)/i

/** Far above the size of any valid form. */
const limits = { fields: 100, files: 100, parts: 200 }

/** Files whose pixels are needed are kept completely, unless they are too large; of others only the header. */
const maxSourceBytes = Math.max(...families.flatMap(({ sources }) => sources?.below_bytes ?? []))

function keptBytes(field: string, earlier: readonly UploadedFile[]): number {
  const isMask = (name: string) => name === 'mask'
  const isFirst = !earlier.some((file) => isMask(file.field) === isMask(field))
  if (!isFirst) return imageInfoHeadBytes
  return isMask(field) ? maskLimits.below_bytes : maxSourceBytes
}

/**
 * Reads a form while it arrives.
 * @throws RequestProblem 400 for an invalid form, 413 for one that is too large
 */
export async function readForm(exchange: Exchange, fields: Fields): Promise<void> {
  const { incoming } = exchange
  const { 'content-type': contentType = '' } = incoming.headers
  if (!formType.test(contentType)) {
    throw unreadable("Invalid 'Content-Type': must be multipart/form-data with a boundary.")
  }
  const { Busboy } = await import('@fastify/busboy')
  const form = new Busboy({ headers: { ...incoming.headers, 'content-type': contentType }, limits })
  const texts = new Map<string, string>()
  const files: UploadedFile[] = []
  let problem: RequestProblem | undefined
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
    let size = 0
    stream.on('data', (chunk: Buffer) => {
      hash.update(chunk)
      if (size < maxKept) chunks.push(chunk.subarray(0, maxKept - size))
      size += chunk.length
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
  async function* arriving() {
    // Not destroyed when the form is refused, since the reply takes the same connection.
    for await (const chunk of incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      exchange.size += chunk.length
      if (exchange.size > maxFormBytes) {
        throw new RequestProblem(413, `The form is larger than ${maxFormBytes} bytes.`, { headers: closing })
      }
      yield chunk
    }
  }
  try {
    await pipeline(arriving, form)
  } catch (error) {
    if (error instanceof RequestProblem) throw error
    throw unreadable(`The form could not be parsed: ${(error as Error).message}.`)
  } finally {
    // Reads and discards the rest, so that the client can receive the reply.
    incoming.resume()
  }
  if (problem !== undefined) throw problem
  exchange.body = formValues(texts, fields)
  exchange.files = files
  exchange.digest = digestOf([
    exchange.body,
    files.map((file) => [file.field, file.declaredType, file.digest]),
  ])
}

function unreadable(message: string): RequestProblem {
  return new RequestProblem(400, message, { headers: closing })
}

/** The values in the types of the endpoint's table; those that cannot be converted stay text, for the check to reject. */
function formValues(texts: ReadonlyMap<string, string>, fields: Fields): JsonObject {
  const valueOf = (text: string, type: Field['type'] | undefined) => {
    const isNumber = type === 'integer' || type === 'number'
    if (isNumber && /^-?\d+(\.\d+)?$/.test(text)) return Number(text)
    return type === 'boolean' && /^(true|false)$/.test(text) ? text === 'true' : text
  }
  const typeOf = (name: string) => (Object.hasOwn(fields, name) ? fields[name]!.type : undefined)
  return Object.fromEntries(Array.from(texts, ([name, text]) => [name, valueOf(text, typeOf(name))]))
}
