import { maxRequestBytes, maxRequestMebibytes } from '../../limits.ts'
import { type JsonObject, isObject } from '../json-value.ts'
import type { Exchange } from '../sandbox.ts'
import { digestOf } from './request-digest.ts'
import { limitExceeded, RequestProblem } from './request-problem.ts'

/** The rest of a rejected body may still arrive, so its connection cannot be reused. */
export const closing = { connection: 'close' }

/** Larger bodies are read one at a time, since parsing takes several times their size. */
const largeBytes = 16 * 1024 * 1024

/**
 * Reads a request body to its end; it has to be a JSON object, or nothing where nothing is asked for.
 * @throws RequestProblem 413 when it is longer than `maxRequestBytes`, which keeps a mistake from filling memory;
 *   400 when it is no JSON object, or one that holds too much or is nested too deeply
 */
export async function readJsonBody(exchange: Exchange): Promise<void> {
  const bytes = await readBytes(exchange)
  const mayBeEmpty = exchange.record.endpoint === 'response-cancel'
  exchange.body = bytes.length === 0 && mayBeEmpty ? {} : parseObject(bytes)
  exchange.size = bytes.length
  exchange.digest = digestOf(exchange.body)
}

/**
 * Reads a request body of any kind to its end.
 * @throws RequestProblem 413 when it is longer than `maxRequestBytes`
 */
export async function readBytes(exchange: Exchange): Promise<Buffer> {
  const tooLarge = () =>
    new RequestProblem(413, `The request body is larger than ${maxRequestMebibytes} MiB.`, {
      headers: closing,
    })
  const { incoming } = exchange
  if (Number(incoming.headers['content-length'] ?? 0) > maxRequestBytes) throw tooLarge()
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    if (size <= largeBytes && size + chunk.length > largeBytes) await takeTurn(exchange)
    size += chunk.length
    if (size > maxRequestBytes) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Waits until the requests with a large body that came before have been answered. */
async function takeTurn(exchange: Exchange): Promise<void> {
  const { sandbox } = exchange
  const before = sandbox.largeBodies
  const { promise, resolve } = Promise.withResolvers<void>()
  sandbox.largeBodies = promise
  exchange.release = resolve
  await before
}

function parseObject(bytes: Buffer): JsonObject {
  assertModest(bytes)
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw new RequestProblem(400, 'The JSON body of the request could not be parsed.')
  }
  if (!isObject(value)) throw new RequestProblem(400, 'The body of the request must be a JSON object.')
  return value
}

const maxDepth = 512
/** Maximum number of values in a body. Each takes much more memory than the two bytes that it needs on the wire. */
const maxValues = 100_000

/**
 * Refuses JSON that would fill the memory or the stack before it is parsed. Invalid JSON is found by the parser.
 * @throws RequestProblem 400
 */
function assertModest(bytes: Buffer): void {
  let isInString = false
  let depth = 0
  let values = 0
  for (let at = 0; at < bytes.length; at++) {
    const character = bytes[at]
    if (character === 0x22) isInString = !isInString
    else if (isInString) at += character === 0x5c ? 1 : 0
    else if (character === 0x2c) values++
    else if (character === 0x5d || character === 0x7d) depth--
    else if (character === 0x5b || character === 0x7b) {
      values++
      depth++
    }
    if (depth > maxDepth) throw tooMuch(`nests deeper than ${maxDepth} levels`)
    if (values > maxValues) throw tooMuch(`holds more than ${maxValues} values`)
  }
}

function tooMuch(problem: string): RequestProblem {
  return limitExceeded(`The body of the request ${problem}.`, closing)
}
