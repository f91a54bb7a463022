import type { Clock } from '../context.ts'
import type { Creation } from '../cost/creation.ts'
import type { ConnectionOptions, Reply, RequestBody, TimeLimits } from './exchange.ts'
import type { RequestKind, RetryNotice, RetryPolicy } from './retry.ts'

/** How to reach the gateway; the same for all requests of a command. */
export interface Gateway extends ConnectionOptions {
  readonly baseUrl: URL
  /** Where the content-generation style is, if not at `baseUrl`. */
  readonly betaUrl?: URL | undefined
  readonly key: string
  /** Of every request to the gateway, by names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  /** Headers of downloads from other origins, by origin. */
  readonly downloadHeaders?: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly policy: RetryPolicy
  /** For a caller that may send the request again later. */
  readonly idempotencyKey?: string
  readonly limits: TimeLimits & {
    /** Between two messages, in milliseconds; keep-alives do not count. */
    readonly progress: number | undefined
    /** For the whole request with its retries, in milliseconds. */
    readonly total: number | undefined
    /** The deadline for everything, on the monotonic clock, in milliseconds. */
    readonly deadline?: number | undefined
  }
  /**
   * Called once before a request that creates something, not for each attempt: if it throws, nothing is sent. What it
   * resolves with gets the error, if there is one, of the last attempt.
   */
  readonly admit?: (creation: Creation) => Promise<(error: unknown) => void>
  /** Awaited before each request, at every attempt: it may hold it back. If it throws, nothing is sent. */
  readonly beforeSend?: (kind: RequestKind) => Promise<void>
  /** Before each request that may cost money. */
  readonly onSend?: () => void
  readonly onReply?: ((headers: Reply['headers']) => void) | undefined
  readonly onRetry: (retry: RetryNotice) => void
  /** Receives lines without secrets. */
  readonly trace?: (line: string) => void
}

export interface GatewayRequest {
  readonly method: 'GET' | 'POST'
  readonly url: URL
  readonly kind: RequestKind
  /** What it asks to be created; only a request that reads has nothing. */
  readonly creation?: Creation
  readonly contentType?: string
  readonly accept: string
  readonly body?: RequestBody
  readonly isKeyless?: boolean
  /** One for all attempts. */
  readonly idempotencyKey?: string
  /** Receives the body of a reply of 200 to 299 as it comes, before anything else does. */
  readonly onReplyBytes?: ((bytes: Uint8Array) => void) | undefined
}

export interface GatewayReply extends Reply {
  readonly requestId: string | null
}
