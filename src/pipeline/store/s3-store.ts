import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { FileError } from '../../errors.ts'
import { readError, shownPath } from '../../files/file-error.ts'
import { openAtomicFile } from '../../files/open-atomic-file.ts'
import type { Reply, RequestBody } from '../../gateway/exchange.ts'
import { fileChunks } from '../../gateway/multipart.ts'
import { digestPattern } from '../lock/lock-block.ts'
import { emptySha256, openS3Client, type S3Client } from './s3-client.ts'
import { findS3 } from './s3-location.ts'
import {
  maxBlobBytes,
  sourceChanged,
  type SharedStore,
  type StoreContext,
  type StoreNetwork,
} from './shared-store.ts'

/**
 * Opens a store in a bucket of any server that speaks S3: `PREFIX/ab/abcd…`. An object is written with one request, in whose
 * signature its digest is, so that a server which checks that has the right bytes or none.
 * @throws UsageError; ModelgateError when the bucket cannot be used
 */
export async function openS3Store(
  context: StoreContext,
  location: string,
  network: StoreNetwork,
): Promise<SharedStore> {
  const found = await findS3(context, location, network.allowHttp)
  const client = openS3Client(context, found, network)
  // Whether it can be read at all. Only an object tells a missing bucket from a missing object.
  await client.request({ method: 'GET', key: keyOf(emptySha256), expects: [404] }, async () => {})
  const objects = openObjects(client)
  const stored = new Map<string, Stored>()
  return {
    shown: found.shown,
    async put(path, sha256) {
      const known = stored.get(sha256)
      const now = context.clock.monotonic()
      if (known !== undefined && now < known.until) return await known.storing
      const storing = putFile(objects, path, sha256)
      stored.set(sha256, { storing, until: now + knownMs })
      storing.catch(() => stored.delete(sha256))
      return await storing
    },
    fetch: async (sha256, path) =>
      digestPattern.test(sha256) && (await fetchObject(context, client, sha256, path)),
  }
}

/** What was put lately: the same file may go into many requests. */
interface Stored {
  readonly storing: Promise<void>
  /** On the monotonic clock. */
  readonly until: number
}

/** How long nobody is taken to remove what was put. */
const knownMs = 600_000

function keyOf(sha256: string): string {
  return `${sha256.slice(0, 2)}/${sha256}`
}

type Found = 'right' | 'wrong' | 'absent'

interface Objects {
  look(sha256: string): Promise<Found>
  /**
   * Writes an object.
   * @param replaces whether one that is there is replaced
   * @returns false when one is there
   */
  write(sha256: string, body: RequestBody, replaces: boolean): Promise<boolean>
}

function openObjects(client: S3Client): Objects {
  /** Whether the server knows checksums and conditions; until it says that it does not. */
  let knowsChecksums = true
  let knowsConditions = true

  async function look(sha256: string): Promise<Found> {
    const headers = knowsChecksums ? { 'x-amz-checksum-mode': 'ENABLED' } : {}
    const key = keyOf(sha256)
    const expects = knowsChecksums ? [404, 400, 501] : [404]
    const request = { method: 'HEAD', key, headers, expects } as const
    const found = await client.request<Found | 'unread' | 'refused'>(request, async (reply) => {
      if (reply.status === 404) return 'absent'
      if (reply.status >= 400) return 'refused'
      const checksum: string | undefined = reply.headers['x-amz-checksum-sha256']
      // One of parts (`…-3`) is no digest of the whole.
      if (checksum === undefined || checksum.includes('-')) return 'unread'
      return checksum === base64Of(sha256) ? 'right' : 'wrong'
    })
    if (found === 'refused') {
      knowsChecksums = false
      return await look(sha256)
    }
    if (found !== 'unread') return found
    return await client.request<Found>({ method: 'GET', key, expects: [404] }, async (reply) => {
      if (reply.status === 404) return 'absent'
      return (await readDigest(reply)) === sha256 ? 'right' : 'wrong'
    })
  }

  async function write(sha256: string, body: RequestBody, replaces: boolean): Promise<boolean> {
    const isConditional = knowsConditions && !replaces
    const headers = {
      'content-type': 'application/octet-stream',
      ...(isConditional ? { 'if-none-match': '*' } : {}),
      ...(knowsChecksums ? { 'x-amz-checksum-sha256': base64Of(sha256) } : {}),
    }
    const expects = [...(isConditional ? [412] : []), ...(isConditional || knowsChecksums ? [400, 501] : [])]
    const request = { method: 'PUT', key: keyOf(sha256), headers, body, sha256, expects } as const
    const status = await client.request(request, async (reply) => reply.status)
    if (status < 300) return true
    if (status === 412) return false
    if (isConditional) knowsConditions = false
    else knowsChecksums = false
    return await write(sha256, body, replaces)
  }

  return { look, write }
}

async function putFile(objects: Objects, path: string, sha256: string): Promise<void> {
  const found = await objects.look(sha256)
  if (found === 'right') return
  const body = await bodyOf(path, sha256)
  if (await objects.write(sha256, body, found === 'wrong')) return
  // Somebody else was faster, or a reply was lost that told of our own.
  if ((await objects.look(sha256)) !== 'right') await objects.write(sha256, body, true)
}

/** The bytes of a file as the body of a request, which is never completed with others than those of the digest. */
async function bodyOf(path: string, sha256: string): Promise<RequestBody> {
  const found = await stat(path).catch((error: unknown) => {
    throw readError(error, path)
  })
  if (!found.isFile()) throw readError(new Error('it is not a regular file'), path)
  const { size } = found
  if (size > maxBlobBytes) {
    const message = `${shownPath(path)} has ${size} bytes; the store takes at most ${maxBlobBytes}.`
    throw new FileError('file_too_large', message, { phase: 'input' })
  }
  if (size === 0 && sha256 !== emptySha256) throw sourceChanged(path)
  return {
    length: size,
    async *chunks() {
      const hash = createHash('sha256')
      let sent = 0
      for await (const chunk of fileChunks(path)) {
        hash.update(chunk)
        sent += chunk.length
        // With its last bytes the request would be whole.
        const isLast = sent >= size
        if (isLast && (sent > size || hash.copy().digest('hex') !== sha256)) throw sourceChanged(path)
        yield chunk
      }
      if (sent < size) throw sourceChanged(path)
    },
  }
}

async function fetchObject(
  context: StoreContext,
  client: S3Client,
  sha256: string,
  path: string,
): Promise<boolean> {
  return await client.request({ method: 'GET', key: keyOf(sha256), expects: [404] }, async (reply) => {
    if (reply.status === 404) return false
    const file = await openAtomicFile(context, path, { force: true })
    try {
      const found = await readDigest(reply, (chunk) => file.write(chunk))
      if (found !== sha256) return false
      await file.commit()
      return true
    } finally {
      await file.discard()
    }
  })
}

/** The digest of what a reply brings; undefined when it is more than any blob has. */
async function readDigest(
  { headers, body }: Reply,
  onChunk: (chunk: Uint8Array) => Promise<void> = async () => {},
): Promise<string | undefined> {
  if (Number(headers['content-length'] ?? 0) > maxBlobBytes) return undefined
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > maxBlobBytes) return undefined
    hash.update(chunk)
    await onChunk(chunk)
  }
  return hash.digest('hex')
}

function base64Of(sha256: string): string {
  return Buffer.from(sha256, 'hex').toString('base64')
}
