import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../context.ts'
import type { JsonObject } from './json-value.ts'

/** A request that passed the door: right host, a key, and a body that is a JSON object (empty for GET). */
export interface SandboxRequest {
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly body: JsonObject
  /** Counts the requests of this sandbox; makes ids differ and stay repeatable. */
  readonly number: number
  /** A fault wants a stream request answered with one document. */
  readonly ignoresStream: boolean
}

/** What every endpoint knows about the sandbox it belongs to. */
export interface Surroundings {
  readonly seed: number
  readonly clock: Clock
}

/** The value of the header `x-sandbox-scenario`. */
export function scenarioHeader({ headers }: SandboxRequest): string | undefined {
  const value = headers['x-sandbox-scenario']
  return Array.isArray(value) ? value[0] : value
}
