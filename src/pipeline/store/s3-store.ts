import { AwsV4Signer } from 'aws4fetch'
import { join } from 'node:path'
import { ConfigError, FileError, ModelgateError, UsageError } from '../../errors.ts'
import { readError, shownPath } from '../../files/file-error.ts'
import { readInputFile } from '../../files/input-file.ts'
import type { Reply, RequestBody } from '../../gateway/exchange.ts'
import { fileChunks } from '../../gateway/multipart.ts'
import { readErrorText, refuseEncoding } from '../../gateway/send-request.ts'
import { isLoopback } from '../../loopback.ts'
import { digestOfFile, saveBytes } from './file-digest.ts'
import { invalidStore, maxBlobBytes, sourceChanged, type BlobSource, type SharedStore } from './blob-store.ts'
import {
  connectStore,
  isForTheMoment,
  unavailable,
  type StoreContext,
  type StoreNetwork,
} from './store-request.ts'

const emptySha256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT'
  readonly sha256: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: RequestBody
  /** Statuses above 299 that say something to the caller; all others are errors. */
  readonly expects?: readonly number[]
}

/**
 * `PREFIX/ab/abcd…` of any server that speaks S3. An object is written with one request, in whose signature its digest
 * is, so that a server which checks that has the right bytes or none.
 * @throws UsageError, ConfigError; ModelgateError `key`, and when the bucket cannot be used
 */
export async function openS3Store(
  context: StoreContext,
  location: string,
  network: StoreNetwork,
): Promise<SharedStore> {
  const bucket = await openBucket(context, location, network.allowHttp)
  const { shown } = bucket
  const send = connectStore(context, network, shown)
  // Signed anew for each attempt: a signature holds for some minutes.
  const request = <Value>(one: S3Request, use: (reply: Reply) => Promise<Value>) =>
    send(
      () => signed(bucket, one),
      async (reply) => {
        await checkReply(bucket, one, reply)
        return await use(reply)
      },
    )
  // Whether it can be read at all. Only asking for an object distinguishes a missing bucket from a missing object.
  await request({ method: 'GET', sha256: emptySha256, expects: [404] }, async () => {})
  /** Whether the server knows checksums, until it says that it does not. */
  let knowsChecksums = true

  /** Whether the server vouches for the bytes; one that cannot gets them again. */
  async function isThere(sha256: string): Promise<boolean> {
    const headers = { 'x-amz-checksum-mode': 'ENABLED' }
    const look = { method: 'HEAD', sha256, headers, expects: [404, 400, 501] } as const
    return await request(look, async (reply) => {
      return reply.status < 300 && reply.headers['x-amz-checksum-sha256'] === base64Of(sha256)
    })
  }

  async function write(sha256: string, body: RequestBody): Promise<void> {
    const headers = {
      'content-type': 'application/octet-stream',
      ...(knowsChecksums ? { 'x-amz-checksum-sha256': base64Of(sha256) } : {}),
    }
    const expects = knowsChecksums ? [400, 501] : []
    const put = { method: 'PUT', sha256, headers, body, expects } as const
    const status = await request(put, async (reply) => reply.status)
    if (status < 300) return
    knowsChecksums = false
    await write(sha256, body)
  }

  return {
    shown,
    async put(source, sha256) {
      if (knowsChecksums && (await isThere(sha256))) return false
      await write(sha256, await bodyOf(source, sha256))
      return true
    },
    async fetch(sha256, path, maxBytes = maxBlobBytes) {
      return await request({ method: 'GET', sha256, expects: [404] }, async (reply) => {
        return reply.status !== 404 && (await saveBytes(context, reply.body, { sha256, maxBytes }, path))
      })
    },
  }
}

function base64Of(sha256: string): string {
  return Buffer.from(sha256, 'hex').toString('base64')
}

/** With another digest the server would refuse it, or keep it under a wrong name. */
async function bodyOf(path: BlobSource, sha256: string): Promise<RequestBody> {
  if (typeof path !== 'string') return { length: path.length, chunks: () => [path] }
  const found = await digestOfFile(path, false)
  if (found === undefined) throw readError(Object.assign(new Error('gone'), { code: 'ENOENT' }), path)
  if (found.sha256 !== sha256) throw sourceChanged(path)
  if (found.bytes > maxBlobBytes) {
    const message = `${shownPath(path)} has ${found.bytes} bytes; the store takes at most ${maxBlobBytes}.`
    throw new FileError('file_too_large', message, { phase: 'input' })
  }
  return { length: found.bytes, chunks: () => fileChunks(path) }
}

type Bucket = Awaited<ReturnType<typeof openBucket>>

async function openBucket(context: StoreContext, location: string, allowHttp: boolean) {
  const { bucket, prefix } = parseLocation(location)
  const { env, clock } = context
  const region = env['AWS_REGION'] || env['AWS_DEFAULT_REGION'] || 'us-east-1'
  if (!/^[a-z0-9-]{1,64}$/i.test(region)) throw new ConfigError('AWS_REGION is not the name of a region.')
  const url = `${endpointOf(env, region, allowHttp)}/${bucket}`
  const shown = `s3://${bucket}/${prefix}`.replace(/\/$/, '')
  const credentials = await findCredentials(context)
  return { shown, url, prefix, region, credentials, clock, signingKeys: new Map<string, ArrayBuffer>() }
}

async function signed(bucket: Bucket, { method, sha256, headers, body }: S3Request) {
  const { prefix, credentials, region, clock, signingKeys } = bucket
  const url = `${bucket.url}/${encodeKey(`${prefix}${sha256.slice(0, 2)}/${sha256}`)}`
  const signer = new AwsV4Signer({
    ...credentials,
    method,
    url,
    headers: { ...headers, 'x-amz-content-sha256': method === 'PUT' ? sha256 : emptySha256 },
    service: 's3',
    region,
    cache: signingKeys,
    datetime: new Date(clock.now()).toISOString().replaceAll(/[:-]|\.\d{3}/g, ''),
  })
  const own = Object.fromEntries((await signer.sign()).headers.entries())
  return {
    method,
    url: new URL(url),
    headers: { ...own, 'accept-encoding': 'identity', 'user-agent': `modelgate/${__VERSION__}` },
    // Nothing cannot be sent as a stream.
    ...(body === undefined || body.length === 0 ? {} : { body }),
  }
}

/** Other writers are in the way; it came too slowly, or damaged (Amazon S3 API Reference, "Error responses"). */
const repeatableCodes: ReadonlySet<string> = new Set([
  'BadDigest',
  'OperationAborted',
  'RequestTimeout',
  'SlowDown',
  'XAmzContentSHA256Mismatch',
])

async function checkReply(bucket: Bucket, { method, expects = [] }: S3Request, reply: Reply): Promise<void> {
  const { status } = reply
  if (status >= 200 && status < 300) return refuseEncoding(reply)
  // A reply to HEAD has no body.
  const text = method === 'HEAD' ? '' : await readErrorText(reply, bucket.clock)
  const code = /<Code>\s*([A-Za-z0-9._-]{1,64})\s*<\/Code>/.exec(text)?.[1] ?? ''
  if (isForTheMoment(status) || repeatableCodes.has(code)) {
    throw unavailable(bucket.shown, `${status} ${code}`.trim(), reply, bucket.clock.now(), true)
  }
  if (!expects.includes(status) || code === 'NoSuchBucket') throw statusError(bucket, reply, code)
}

function parseLocation(location: string): { readonly bucket: string; readonly prefix: string } {
  const refuse = (problem: string) =>
    invalidStore(`The store at s3:// has ${problem}.`, 'Write it like s3://bucket/prefix.')
  // Older and other servers allow more than Amazon does today.
  const [, bucket, path = ''] = /^s3:\/\/([a-z\d][a-z\d._-]{1,253}[a-z\d])(?:\/(.*))?$/is.exec(location) ?? []
  if (bucket === undefined || bucket.includes('..')) throw refuse('no valid name of a bucket')
  const plain = path.replace(/\/$/, '')
  if (plain === '') return { bucket, prefix: '' }
  // Addresses are resolved on their way: such a key would end in another place, or nowhere.
  if (plain.split('/').some((part) => ['', '.', '..'].includes(part)) || !plain.isWellFormed()) {
    throw refuse('a prefix with an empty part, or with . or .. in it')
  }
  return { bucket, prefix: `${plain}/` }
}

function endpointOf(env: StoreContext['env'], region: string, allowHttp: boolean): string {
  const name = env['AWS_ENDPOINT_URL_S3'] ? 'AWS_ENDPOINT_URL_S3' : 'AWS_ENDPOINT_URL'
  const text = env[name]?.trim()
  if (!text) return `https://s3.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`
  const refuse = (problem: string, hint: string) =>
    new ConfigError(`The endpoint of the store (${name}) ${problem}.`, { hint })
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw refuse('must start with https:// or http://', 'Write it like https://s3.example.')
  }
  if (url.protocol === 'http:' && !allowHttp && !isLoopback(url.hostname)) {
    const hint = 'Use https://, or allow it on purpose with --allow-http.'
    throw refuse(`would send files to ${url.host} in clear text`, hint)
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

/** Else the profile (`AWS_PROFILE`) of `AWS_SHARED_CREDENTIALS_FILE`, by default `~/.aws/credentials`. */
async function findCredentials(context: StoreContext) {
  const { env } = context
  const found = env['AWS_ACCESS_KEY_ID'] || env['AWS_SECRET_ACCESS_KEY'] ? env : await profileOf(context)
  const id = found['AWS_ACCESS_KEY_ID']?.trim()
  const secret = found['AWS_SECRET_ACCESS_KEY']?.trim()
  const token = found['AWS_SESSION_TOKEN']?.trim()
  const refuse = (message: string, hint: string) =>
    new ModelgateError('key', 'store_refused', message, { phase: 'config', billed: 'no', hint })
  if (!id || !secret) {
    const name = id ? 'AWS_SECRET_ACCESS_KEY' : 'AWS_ACCESS_KEY_ID'
    throw refuse(`There is no key to the store: ${name} is not set.`, keysHint)
  }
  // Anything else would end a header, and be quoted in the error about that.
  if (!/^[\x21-\x7e]+$/.test(`${id}${secret}${token ?? ''}`)) {
    const hint = 'Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.'
    throw refuse('The keys to the store contain characters that no key has.', hint)
  }
  return { accessKeyId: id, secretAccessKey: secret, ...(token ? { sessionToken: token } : {}) }
}

const keysHint =
  'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or keep them in ~/.aws/credentials. ' +
  'Keys of a role or of a single sign-on: eval "$(aws configure export-credentials --format env)"'

async function profileOf(context: StoreContext): Promise<StoreContext['env']> {
  const { env, home } = context
  const path = env['AWS_SHARED_CREDENTIALS_FILE'] || (home === '' ? '' : join(home, '.aws', 'credentials'))
  if (path === '') return {}
  const content = await readInputFile(context, path, { pipes: false, maxBytes: 1_048_576 })
  if (content instanceof ModelgateError) return {}
  const wanted = env['AWS_PROFILE'] || 'default'
  const found: Record<string, string> = {}
  let section = ''
  for (const line of content.toString('utf8').split(/\r?\n/)) {
    section = /^\[\s*(?:profile\s+)?([^\]]*?)\s*\]/.exec(line)?.[1] ?? section
    const [, name, value] = /^\s*(aws_\w+)\s*=\s*(.*?)\s*$/i.exec(line) ?? []
    if (section === wanted && name !== undefined) found[name.toUpperCase()] = value!
  }
  return found
}

/** Encoded as signatures have it (RFC 3986). */
function encodeKey(key: string): string {
  return encodeURIComponent(key)
    .replaceAll('%2F', '/')
    .replaceAll(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** What the server refuses; never its own words, which quote what was signed. */
function statusError({ shown, region }: Bucket, { status, headers }: Reply, code: string): ModelgateError {
  const answer = `${status} ${code}`.trim()
  const facts = { phase: 'connect', billed: 'no', httpStatus: status } as const
  if (code === 'NoSuchBucket') {
    const hint = 'Make it first, or check AWS_ENDPOINT_URL_S3.'
    const message = `The bucket of the store ${shown} does not exist.`
    return new UsageError(message, { ...facts, code: 'store_missing', hint })
  }
  if ((status >= 300 && status < 400) || code === 'AuthorizationHeaderMalformed') {
    const other = /^[a-z0-9-]{1,64}$/.exec(headers['x-amz-bucket-region'] ?? '')?.[0]
    const message = `The bucket of the store ${shown} is not in the region ${region}.`
    const hint = `Set AWS_REGION${other === undefined ? '' : `=${other}`}.`
    return new UsageError(message, { ...facts, code: 'store_missing', hint })
  }
  if (status === 401 || status === 403) {
    const message = `The store ${shown} refused the request (${answer}).`
    return new ModelgateError('key', 'store_refused', message, { ...facts, hint: refusedHint })
  }
  const message = `The store ${shown} rejected the request (${answer}).`
  return new ModelgateError('rejected', 'store_refused', message, facts)
}

const refusedHint =
  'Check the keys (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN), when they expire, and the clock of this machine. ' +
  'They need s3:GetObject and s3:PutObject for the prefix, and s3:ListBucket for the bucket.'
