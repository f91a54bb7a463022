import type { IncomingMessage } from 'node:http'
import { maxRequestBytes, maxRequestMebibytes } from '../../contract/limits.ts'
import type { JsonObject } from '../json-value.ts'
import { isDeeperThan, isObject } from '../json-value.ts'
import { RequestProblem } from './problem.ts'

const maxDepth = 512

/**
 * Reads a request body to its end.
 * @throws RequestProblem 413 when it is longer than `maxRequestBytes`, which keeps a mistake from filling memory
 */
export async function readBody(incoming: IncomingMessage): Promise<Buffer> {
  const tooLarge = () =>
    new RequestProblem(413, `The request body is larger than ${maxRequestMebibytes} MiB.`, {
      // The rest of the body is still under way, so the connection cannot be used again.
      headers: { connection: 'close' },
    })
  if (Number(incoming.headers['content-length'] ?? 0) > maxRequestBytes) throw tooLarge()
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > maxRequestBytes) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/**
 * A body that has to be a JSON object.
 * @throws RequestProblem 400 otherwise
 */
export function parseBody(bytes: Buffer): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw new RequestProblem(400, 'The JSON body of the request could not be parsed.')
  }
  if (!isObject(value)) throw new RequestProblem(400, 'The body of the request must be a JSON object.')
  if (isDeeperThan(value, maxDepth)) {
    throw new RequestProblem(400, `The body of the request nests deeper than ${maxDepth} levels.`)
  }
  return value
}
