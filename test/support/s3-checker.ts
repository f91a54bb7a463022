import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { listenForTest } from './local-server.ts'

/** What goes wrong with one request. */
export type S3Fault =
  | {
      readonly kind: 'status'
      readonly status: number
      readonly code?: string
      readonly headers?: Readonly<Record<string, string>>
    }
  /** The connection is reset: before the reply, or in the middle of its body. */
  | { readonly kind: 'reset'; readonly at: 'request' | 'body' }
  /** It is done, and the reply is lost. */
  | { readonly kind: 'lost' }
  /** The body ends early, as far as its length tells, or is another one of the same length. */
  | { readonly kind: 'short' | 'wrong' }

export interface S3CheckerOptions {
  /** Of who may use it. */
  readonly keys: {
    readonly accessKeyId: string
    readonly secretAccessKey: string
    readonly sessionToken?: string
  }
  readonly buckets: readonly string[]
  readonly region?: string
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** A server that refuses checksums, as older ones do; one that ignores them. */
  readonly checksums?: 'refused' | 'ignored'
}

/** The parts of a request that a signature is about. */
export interface SignedRequest {
  readonly method: string
  /** As on the wire, with its query. */
  readonly target: string
  readonly headers: Readonly<Record<string, string | undefined>>
}

/**
 * The signature that a request has to have, from what its own `Authorization` says is signed.
 * Written from Amazon S3 API Reference, "Authenticating Requests: Using the Authorization Header (AWS Signature Version 4)".
 */
export function signatureOf({ method, target, headers }: SignedRequest, secret: string): string {
  const authorization = headers['authorization'] ?? ''
  const [, scope = ''] = /Credential=[^/,]+\/([^,\s]+)/.exec(authorization) ?? []
  const [, names = ''] = /SignedHeaders=([^,\s]+)/.exec(authorization) ?? []
  const [day = '', region = '', service = '', end = ''] = scope.split('/')
  const [path = '', query = ''] = target.split(/\?(.*)/s)
  const canonicalQuery = query
    .split('&')
    .filter((part) => part !== '')
    .map((part) => (part.includes('=') ? part : `${part}=`))
    .sort()
    .join('&')
  const lines = names
    .split(';')
    .map((name) => `${name}:${(headers[name] ?? '').trim().replaceAll(/ +/g, ' ')}\n`)
  const digest = headers['x-amz-content-sha256']
  const canonical = [method, path, canonicalQuery, lines.join(''), names, digest].join('\n')
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(canonical)].join('\n')
  const key = [day, region, service, end].reduce<Buffer>(hmac, Buffer.from(`AWS4${secret}`))
  return hmac(key, text).toString('hex')
}

const hmac = (key: Buffer, text: string) => createHmac('sha256', key).update(text).digest()
const sha256 = (text: string | Buffer) => createHash('sha256').update(text).digest('hex')

/** A refusal, by the codes of Amazon S3. */
class Refused extends Error {
  readonly status: number
  readonly code: string
  constructor(status: number, code: string) {
    super(code)
    this.status = status
    this.code = code
  }
}

/** How far the clocks may be apart, in milliseconds. */
const maxSkew = 15 * 60_000

/**
 * A server that speaks as much of S3 as a store needs, and refuses what a real one does: wrong and incomplete signatures,
 * and bytes that are not those of their digests.
 */
export async function s3Checker(options: S3CheckerOptions) {
  const { keys, buckets, now, region = 'us-east-1', checksums } = options
  /** By the path as it is on the wire: `/bucket/key`. */
  const objects = new Map<string, Buffer>()
  const digests = new Map<string, string>()
  const requests: string[] = []
  const headers: IncomingMessage['headers'][] = []
  const written: string[] = []
  const faults = new Map<string, S3Fault[]>()

  function checkSignature(request: IncomingMessage): void {
    const given = request.headers as SignedRequest['headers']
    const authorization = given['authorization'] ?? ''
    const shape =
      /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/
    const [, id, day, scopeRegion, names = '', signature = ''] = shape.exec(authorization) ?? []
    if (id === undefined) throw new Refused(403, 'AccessDenied')
    if (id !== keys.accessKeyId) throw new Refused(403, 'InvalidAccessKeyId')
    if (scopeRegion !== region) throw new Refused(400, 'AuthorizationHeaderMalformed')
    const signed = names.split(';')
    const needed = ['host', ...Object.keys(given).filter((name) => /^(?:x-amz|if)-/.test(name))]
    if (!needed.every((name) => signed.includes(name))) throw new Refused(403, 'AccessDenied')
    const date = given['x-amz-date'] ?? ''
    const time = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
    if (!(Math.abs(time - now()) <= maxSkew) || !date.startsWith(day!))
      throw new Refused(403, 'RequestTimeTooSkewed')
    if (given['x-amz-security-token'] !== keys.sessionToken) throw new Refused(403, 'InvalidToken')
    const asked = { method: request.method!, target: request.url!, headers: given }
    const right = signatureOf(asked, keys.secretAccessKey)
    if (!timingSafeEqual(Buffer.from(right), Buffer.from(signature)))
      throw new Refused(403, 'SignatureDoesNotMatch')
  }

  async function put(request: IncomingMessage, path: string): Promise<Readonly<Record<string, string>>> {
    const given = request.headers as SignedRequest['headers']
    if (given['x-amz-checksum-sha256'] !== undefined && checksums === 'refused')
      throw new Refused(400, 'InvalidArgument')
    const bytes = await buffer(request)
    const digest = createHash('sha256').update(bytes).digest()
    if (given['x-amz-content-sha256'] !== digest.toString('hex'))
      throw new Refused(400, 'XAmzContentSHA256Mismatch')
    const checksum = given['x-amz-checksum-sha256']
    if (checksum !== undefined && checksum !== digest.toString('base64')) throw new Refused(400, 'BadDigest')
    objects.set(path, bytes)
    if (checksum === undefined || checksums === 'ignored') digests.delete(path)
    else digests.set(path, checksum)
    written.push(path)
    return { etag: `"${digest.toString('hex').slice(0, 32)}"` }
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '' } = request
    requests.push(`${method} ${path}`)
    headers.push(request.headers)
    const fault = faults.get(method)?.shift()
    if (fault?.kind === 'reset' && fault.at === 'request') return void request.socket.resetAndDestroy()
    if (fault?.kind === 'status') {
      response.writeHead(fault.status, { 'content-type': 'application/xml', ...fault.headers })
      return void response.end(method === 'HEAD' ? undefined : errorText(fault.code ?? 'InternalError'))
    }
    checkSignature(request)
    if (!buckets.includes(path.split('/')[1] ?? '')) throw new Refused(404, 'NoSuchBucket')
    if (method === 'PUT') {
      const reply = await put(request, path)
      if (fault?.kind === 'lost') return void request.socket.resetAndDestroy()
      return void response.writeHead(200, reply).end()
    }
    if (method !== 'GET' && method !== 'HEAD') throw new Refused(405, 'MethodNotAllowed')
    const bytes = objects.get(path)
    if (bytes === undefined) throw new Refused(404, 'NoSuchKey')
    const mode = request.headers['x-amz-checksum-mode']
    if (mode !== undefined && checksums === 'refused') throw new Refused(400, 'InvalidArgument')
    const checksum = mode === 'ENABLED' ? digests.get(path) : undefined
    response.writeHead(200, {
      'content-length': bytes.length,
      ...(checksum === undefined ? {} : { 'x-amz-checksum-sha256': checksum }),
    })
    if (method === 'HEAD') return void response.end()
    if (fault === undefined) return void response.end(bytes)
    if (fault.kind === 'wrong') return void response.end(Buffer.alloc(bytes.length, 'x'))
    response.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => {
      if (fault.kind === 'short') request.socket.end()
      else request.socket.resetAndDestroy()
    })
  }

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      if (!(error instanceof Refused)) return void request.socket.destroy()
      request.resume()
      response.writeHead(error.status, { 'content-type': 'application/xml' })
      response.end(request.method === 'HEAD' ? undefined : errorText(error.code))
    })
  })
  return {
    url: await listenForTest(server),
    objects,
    requests,
    headers,
    written,
    /** Puts bytes in the place of an object. @param isVouched whether the server knows their checksum */
    plant(path: string, bytes: Buffer, isVouched = false) {
      objects.set(path, bytes)
      if (isVouched) digests.set(path, createHash('sha256').update(bytes).digest('base64'))
      else digests.delete(path)
    },
    /** For the next requests of a method, in order. */
    fail: (method: string, ...more: readonly S3Fault[]) =>
      void faults.set(method, [...(faults.get(method) ?? []), ...more]),
  }
}

/** A real server quotes what was signed, and the key's id. */
function errorText(code: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>It is refused.</Message><AWSAccessKeyId>AKID</AWSAccessKeyId></Error>`
}
