import { AwsV4Signer } from 'aws4fetch'
import { sleep } from '../../context.ts'
import { ModelgateError, UsageError } from '../../errors.ts'
import { ExchangeError } from '../../gateway/exchange-error.ts'
import { exchange, type ExchangeRequest, type Reply, type RequestBody } from '../../gateway/exchange.ts'
import { readErrorText } from '../../gateway/reply-body.ts'
import {
  Failure,
  failedStatus,
  maxWaitS,
  mayRepeatBroken,
  refusedStatus,
  waitBefore,
} from '../../gateway/retry.ts'
import { brokenError, createTrace, refuseEncoding } from '../../gateway/send-request.ts'
import { waitHint } from '../../gateway/status-error.ts'
import { defaultSeconds } from '../../limits.ts'
import type { S3Location } from './s3-location.ts'
import type { StoreContext, StoreNetwork } from './shared-store.ts'

export interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT'
  /** Behind the prefix. */
  readonly key: string
  /** Names in lower case; all are signed. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: RequestBody
  /** Of the body; of nothing unless given. In hexadecimal. */
  readonly sha256?: string
  /** Statuses above 299 that say something to the caller; all others are errors. */
  readonly expects?: readonly number[]
}

/** Speaks to a bucket: every request is signed, and sent again when the server fails for the moment. */
export interface S3Client {
  /**
   * Sends a request, and hands a reply of 200 to 299, or one that was expected, to `use`, which may be called again when a
   * reply breaks off.
   * @throws ModelgateError; what `use` throws
   */
  request<Value>(request: S3Request, use: (reply: Reply) => Promise<Value>): Promise<Value>
}

/** SHA-256 of nothing. */
export const emptySha256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

/** How often a request is sent again. */
const maxRetries = 5

/** A server that does not know a header says so with one of these. */
const unknownHeaderCodes: ReadonlySet<string> = new Set([
  'InvalidArgument',
  'InvalidRequest',
  'NotImplemented',
])
/** Other writers are in the way; it came too slowly, or damaged (Amazon S3 API Reference, "Error responses"). */
const repeatableCodes: ReadonlySet<string> = new Set([
  'BadDigest',
  'ConditionalRequestConflict',
  'OperationAborted',
  'RequestTimeout',
  'SlowDown',
  'XAmzContentSHA256Mismatch',
])

const limits = {
  connect: defaultSeconds.connect * 1000,
  firstByte: defaultSeconds.firstByte.streamed * 1000,
  idle: defaultSeconds.idle * 1000,
}

export function openS3Client(context: StoreContext, location: S3Location, network: StoreNetwork): S3Client {
  const { clock, signal } = context
  const signingKeys = new Map<string, ArrayBuffer>()
  const trace = createTrace({ clock, ...(network.trace === undefined ? {} : { trace: network.trace }) })

  /** Signed anew for each attempt: a signature holds for some minutes. */
  async function signed({
    method,
    key,
    headers,
    body,
    sha256 = emptySha256,
  }: S3Request): Promise<ExchangeRequest> {
    const url = `${location.bucketUrl}/${encodeKey(location.prefix + key)}`
    const signer = new AwsV4Signer({
      ...location.credentials,
      method,
      url,
      headers: { ...headers, 'x-amz-content-sha256': sha256 },
      service: 's3',
      region: location.region,
      cache: signingKeys,
      datetime: new Date(clock.now()).toISOString().replaceAll(/[:-]|\.\d{3}/g, ''),
    })
    const all = Object.fromEntries((await signer.sign()).headers.entries())
    return {
      method,
      url: new URL(url),
      headers: { ...all, 'accept-encoding': 'identity', 'user-agent': `modelgate/${__VERSION__}` },
      // Nothing cannot be sent as a stream.
      ...(body === undefined || body.length === 0 ? {} : { body }),
    }
  }

  async function attempt<Value>(
    request: S3Request,
    use: (reply: Reply) => Promise<Value>,
  ): Promise<Value | Failure> {
    const wire = await signed(request)
    trace.request(wire)
    try {
      const reply = await exchange(wire, { ...network.connection, clock, signal, limits })
      trace.reply(reply)
      try {
        const answer = await judge(reply, request)
        return answer instanceof Failure ? answer : await use(answer)
      } finally {
        reply.close()
      }
    } catch (error) {
      if (!(error instanceof ExchangeError)) throw error
      trace.failure(error)
      const policy = { mode: 'safe', maxRetries, idempotencyHonoured: true } as const
      return new Failure(broken(error, location), mayRepeatBroken(error, 'read', policy))
    }
  }

  async function judge(reply: Reply, { method, expects = [] }: S3Request): Promise<Reply | Failure> {
    const { status, headers } = reply
    if (status >= 200 && status < 300) {
      refuseEncoding(reply)
      return reply
    }
    const text = method === 'HEAD' ? '' : await readErrorText(reply, clock)
    const code = /<Code>\s*([A-Za-z0-9._-]{1,64})\s*<\/Code>/.exec(text)?.[1]
    // A reply to HEAD has no code.
    const isOther = status === 400 && code !== undefined && !unknownHeaderCodes.has(code)
    if (expects.includes(status) && code !== 'NoSuchBucket' && !isOther) return reply
    const isForTheMoment =
      refusedStatus.has(status) || failedStatus.has(status) || repeatableCodes.has(code ?? '')
    const asked = waitHint(headers, undefined, clock.now())
    return new Failure(statusError(location, reply, code, isForTheMoment, asked), isForTheMoment)
  }

  return {
    async request(request, use) {
      for (let count = 0; ; count++) {
        const outcome = await attempt(request, use)
        if (!(outcome instanceof Failure)) return outcome
        const asked = outcome.error.facts.retryAfterS
        if (!outcome.repeatable || count >= maxRetries || (asked ?? 0) > maxWaitS) throw outcome.error
        await sleep(clock, waitBefore(count, asked, clock.random()) * 1000, signal)
      }
    },
  }
}

/** Encoded as signatures have it (RFC 3986): all but letters, digits, `-._~` and the slashes between the parts. */
function encodeKey(key: string): string {
  const encode = (part: string) =>
    encodeURIComponent(part).replaceAll(
      /[!'()*]/g,
      (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
    )
  return key.split('/').map(encode).join('/')
}

/** What the server refuses; never its own words, which quote what was signed. */
function statusError(
  { shown, region }: S3Location,
  { status, headers }: Reply,
  code: string | undefined,
  isForTheMoment: boolean,
  retryAfterS: number | undefined,
): ModelgateError {
  const answer = `${status}${code === undefined ? '' : ` ${code}`}`
  const facts = { phase: 'connect', billed: 'no', httpStatus: status } as const
  if (code === 'NoSuchBucket') {
    return new UsageError(`The bucket of the store ${shown} does not exist.`, {
      ...facts,
      code: 'store_missing',
      hint: 'Make it first, or check AWS_ENDPOINT_URL_S3.',
    })
  }
  if ((status >= 300 && status < 400) || code === 'AuthorizationHeaderMalformed') {
    const other = /^[a-z0-9-]{1,64}$/.exec(headers['x-amz-bucket-region'] ?? '')?.[0]
    const message = `The bucket of the store ${shown} is not in the region ${region}.`
    const hint = `Set AWS_REGION${other === undefined ? '' : `=${other}`}.`
    return new UsageError(message, { ...facts, code: 'store_elsewhere', hint })
  }
  if (isForTheMoment) {
    const message = `The store ${shown} cannot answer at the moment (${answer}).`
    return new ModelgateError('later', 'store_unavailable', message, {
      ...facts,
      retryAfterS,
      hint: 'Run it again later.',
    })
  }
  if (status === 401 || status === 403) {
    return new ModelgateError('key', 'store_refused', `The store ${shown} refused the request (${answer}).`, {
      ...facts,
      hint: refusedHint(code),
    })
  }
  return new ModelgateError(
    'rejected',
    'store_rejected',
    `The store ${shown} rejected the request (${answer}).`,
    facts,
  )
}

function refusedHint(code: string | undefined): string {
  if (code === 'RequestTimeTooSkewed') return 'The clock of this machine is wrong: set it.'
  if (code === 'ExpiredToken') return 'The keys have expired: get new ones.'
  if (code === 'SignatureDoesNotMatch' || code === 'InvalidAccessKeyId') {
    return 'Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.'
  }
  return 'The keys need s3:GetObject and s3:PutObject for the prefix, and s3:ListBucket for the bucket.'
}

function broken(error: ExchangeError, { shown }: S3Location): ModelgateError {
  const found = brokenError(error, 'read')
  const message = `The store ${shown}: ${found.message}`
  const isAddress = error.fault === 'dns' || error.fault === 'connect' || error.fault === 'tls'
  return found.amend({
    message,
    ...(isAddress ? { hint: 'Check AWS_ENDPOINT_URL_S3, AWS_REGION and the network.' } : {}),
  })
}
