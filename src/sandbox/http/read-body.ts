import type { IncomingMessage } from 'node:http'
import { maxRequestBytes, maxRequestMebibytes } from '../../limits.ts'
import { type JsonObject, isObject } from '../json-value.ts'
import type { RequestContent } from '../request.ts'
import { digestOf } from './request-digest.ts'
import { limitExceeded, RequestProblem } from './request-problem.ts'

/** The rest of a rejected body may still arrive, so its connection cannot be reused. */
export const closing = { connection: 'close' }

/** Larger bodies are read one at a time, since parsing takes several times their size. */
const largeBytes = 16 * 1024 * 1024

interface ReadOptions {
  readonly mayBeEmpty?: boolean
  /** Awaited before more than `largeBytes` are read. */
  readonly acquireLock: () => Promise<void>
}

/**
 * Reads a request body to its end; it has to be a JSON object.
 * @throws RequestProblem 413 when it is longer than `maxRequestBytes`, which keeps a mistake from filling memory;
 *   400 when it is no JSON object, or one that holds too much or is nested too deeply
 */
export async function readJsonBody(
  incoming: IncomingMessage,
  { mayBeEmpty, acquireLock }: ReadOptions,
): Promise<RequestContent> {
  const bytes = await readBytes(incoming, acquireLock, createJsonMeter())
  const body = bytes.length === 0 && mayBeEmpty ? {} : parseObject(bytes)
  return { body, files: [], size: bytes.length, digest: digestOf(body) }
}

/**
 * Reads a request body of any kind to its end.
 * @param measure sees each part as it arrives
 * @throws RequestProblem 413 when it is longer than `maxRequestBytes`; what `measure` throws
 */
export async function readBytes(
  incoming: IncomingMessage,
  acquireLock: () => Promise<void>,
  measure: (bytes: Buffer) => void = () => {},
): Promise<Buffer> {
  const tooLarge = () =>
    new RequestProblem(413, `The request body is larger than ${maxRequestMebibytes} MiB.`, {
      headers: closing,
    })
  if (Number(incoming.headers['content-length'] ?? 0) > maxRequestBytes) throw tooLarge()
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    if (size <= largeBytes && size + chunk.length > largeBytes) await acquireLock()
    size += chunk.length
    if (size > maxRequestBytes) throw tooLarge()
    measure(chunk)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function parseObject(bytes: Buffer): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw new RequestProblem(400, 'The JSON body of the request could not be parsed.')
  }
  if (!isObject(value)) throw new RequestProblem(400, 'The body of the request must be a JSON object.')
  return value
}

/** Acquires the lock, in the order of the calls. @returns releases it */
export type Lock = () => Promise<() => void>

/** A mutex. */
export function createLock(): Lock {
  let last = Promise.resolve()
  return async () => {
    const before = last
    const { promise, resolve: release } = Promise.withResolvers<void>()
    last = promise
    await before
    return release
  }
}

const maxDepth = 512
/**
 * Maximum number of values and names in a body. Each takes much more memory than the two bytes that it needs on the
 * wire.
 */
const maxValues = 100_000

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]
const [openList, openObject, closeList, closeObject] = [0x5b, 0x7b, 0x5d, 0x7d]

/**
 * Counts the values and nesting of JSON while it arrives, so that a body that would fill the memory or the stack is
 * never parsed. Invalid JSON is found by the parser later.
 * @returns takes the next bytes; throws RequestProblem 400 above the limits
 */
function createJsonMeter(): (bytes: Buffer) => void {
  let isInString = false
  let isEscaped = false
  let depth = 0
  let values = 0
  return (bytes) => {
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]
      if (isEscaped) isEscaped = false
      else if (byte === quote) isInString = !isInString
      else if (isInString) isEscaped = byte === backslash
      else if (byte === comma) values++
      else if (byte === closeList || byte === closeObject) depth--
      else if (byte === openList || byte === openObject) {
        values++
        if (++depth > maxDepth) throw refused(`nests deeper than ${maxDepth} levels`)
      }
      if (values > maxValues) throw refused(`holds more than ${maxValues} values`)
    }
  }
}

function refused(problem: string): RequestProblem {
  return limitExceeded(`The body of the request ${problem}.`, closing)
}
