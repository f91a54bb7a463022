import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../context.ts'
import type { Budget } from './budget.ts'
import type { JsonObject } from './json-value.ts'

/** What a body holds: a JSON object, or the fields and files of a form. */
export interface RequestContent {
  readonly body: JsonObject
  readonly files: readonly UploadedFile[]
  /** Bytes of the whole body. */
  readonly size: number
}

/** A file of a form, as much of it as was kept. */
export interface UploadedFile {
  /** Name of the form's field: `image`, `image[]`, `mask`. */
  readonly field: string
  /** The media type that the part declares. */
  readonly declaredType: string
  /** Bytes that came. */
  readonly size: number
  /** The first bytes; all of them for the files whose pixels are needed and that are not too large. */
  readonly head: Uint8Array
}

/** A request from a local program with a key, with a body that is a JSON object (empty for GET). */
export interface SandboxRequest extends RequestContent {
  /** What stands in the path for the names of the route: `id`, `model`. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  /** What addresses on this sandbox begin with, by the name under which the client knows it. */
  readonly origin: string
  /** Counts the requests of this sandbox; makes ids differ and stay repeatable. */
  readonly number: number
  /** What the answer to it may still cost. */
  readonly budget: Budget
  /** Aborted when the client has gone or the sandbox closes: long work for it may end. */
  readonly signal: AbortSignal
  /** A fault wants a stream request answered with one document. */
  readonly ignoresStream: boolean
}

/** What every endpoint knows about the sandbox it belongs to. */
export interface SandboxContext {
  readonly seed: number
  /** Pictures and videos are drawn from the prompt, or are of one colour. */
  readonly media: 'scenes' | 'flat'
  readonly clock: Clock
}

/** The value of the header `x-sandbox-scenario`. */
export function scenarioHeader({ headers }: SandboxRequest): string | undefined {
  const value = headers['x-sandbox-scenario']
  return Array.isArray(value) ? value[0] : value
}
