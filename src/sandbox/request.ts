import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../context.ts'
import type { ModelFamilies } from '../contract/known-models.ts'
import type { Budget } from './budget.ts'
import type { JsonObject } from './json-value.ts'

/** The content of a body: a JSON object, or the fields and files of a form. */
export interface RequestContent {
  readonly body: JsonObject
  readonly files: readonly UploadedFile[]
  /** Bytes of the whole body. */
  readonly size: number
  /** The same for bodies that say the same: SHA-256 of the canonical JSON, or of the fields and files of a form. */
  readonly digest: string
}

/** A file of a form, possibly truncated. */
export interface UploadedFile {
  /** Name of the form's field: `image`, `image[]`, `mask`. */
  readonly field: string
  /** The media type that the part declares. */
  readonly declaredType: string
  /** Number of bytes received. */
  readonly size: number
  /** SHA-256 of all its bytes. */
  readonly digest: string
  /** The first bytes, or all bytes of files whose pixels are needed and that are not too large. */
  readonly head: Uint8Array
}

/** A request from a local program with a key, with a body that is a JSON object (empty for GET). */
export interface SandboxRequest extends RequestContent {
  /** The path parameters of the route: `id`, `model`. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  /** The origin of URLs on this sandbox, as the client addresses it. */
  readonly origin: string
  /** The number of the request; makes ids unique and repeatable. */
  readonly number: number
  /**
   * Seeds what is created: the sandbox's seed, and from the second identical request on how many came before. A request
   * with a seed of its own takes the sandbox's seed and that one instead.
   */
  readonly seed: readonly (string | number)[]
  /** The remaining budget of the answer. */
  readonly budget: Budget
  /** Aborted when the client disconnects or the sandbox closes, to stop long work. */
  readonly signal: AbortSignal
  /** Whether a fault replaces the stream with one document. */
  readonly ignoresStream: boolean
}

/** The state of the sandbox that all endpoints share. */
export interface SandboxContext {
  readonly seed: number
  /** The families that a configuration gives to models. */
  readonly families: ModelFamilies
  readonly clock: Clock
}

/** The value of the header `x-sandbox-scenario`. */
export function scenarioHeader({ headers }: SandboxRequest): string | undefined {
  const value = headers['x-sandbox-scenario']
  return Array.isArray(value) ? value[0] : value
}
