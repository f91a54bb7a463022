import type { IncomingMessage } from 'node:http'
import { maxRequestBytes, maxRequestMebibytes } from '../../contract/limits.ts'
import { type JsonObject, isObject } from '../json-value.ts'
import type { RequestContent } from '../request.ts'
import { createJsonMeter } from './json-meter.ts'
import { RequestProblem } from './problem.ts'

/**
 * Reads a request body to its end; it has to be a JSON object.
 * @param whenEmpty stands for a body without bytes, where there may be none
 * @throws RequestProblem 413 when it is longer than `maxRequestBytes`, which keeps a mistake from filling memory;
 *   400 when it is no JSON object, or one that holds too much or nests too deep
 */
export async function readJsonBody(
  incoming: IncomingMessage,
  whenEmpty?: JsonObject,
): Promise<RequestContent> {
  const tooLarge = () =>
    new RequestProblem(413, `The request body is larger than ${maxRequestMebibytes} MiB.`, {
      // The rest of the body is still under way, so the connection cannot be used again.
      headers: { connection: 'close' },
    })
  if (Number(incoming.headers['content-length'] ?? 0) > maxRequestBytes) throw tooLarge()
  const chunks: Buffer[] = []
  const measure = createJsonMeter()
  let size = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxRequestBytes) throw tooLarge()
    measure(chunk)
    chunks.push(chunk)
  }
  if (size === 0 && whenEmpty !== undefined) return { body: whenEmpty, files: [], size }
  return { body: parseObject(Buffer.concat(chunks)), files: [], size }
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
