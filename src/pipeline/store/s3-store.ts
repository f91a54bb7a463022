import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { FileError } from '../../errors.ts'
import { readError, shownPath } from '../../files/file-error.ts'
import type { RequestBody } from '../../gateway/exchange.ts'
import { fileChunks } from '../../gateway/multipart.ts'
import { digestPattern } from '../lock/lock-block.ts'
import { maxBlobBytes, sourceChanged, type SharedStore } from './blob-store.ts'
import { emptySha256, S3Client } from './s3-client.ts'
import { saveReply, type StoreContext, type StoreNetwork } from './store-request.ts'

/** How long nobody is taken to remove what was put, in milliseconds. */
const knownMs = 600_000

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
  const { clock } = context
  const client = await S3Client.open(context, location, network)
  // Whether it can be read at all. Only an object tells a missing bucket from a missing object.
  await client.request({ method: 'GET', key: keyOf(emptySha256), expects: [404] }, async () => {})
  /** Whether the server knows checksums, until it says that it does not. */
  let knowsChecksums = true
  /** What was put lately, and until when that counts: the same file may go into many requests. */
  const stored = new Map<string, { readonly storing: Promise<boolean>; readonly until: number }>()

  /** Whether the server vouches for the bytes; one that cannot gets them again. */
  async function isThere(sha256: string): Promise<boolean> {
    const headers = { 'x-amz-checksum-mode': 'ENABLED' }
    const request = { method: 'HEAD', key: keyOf(sha256), headers, expects: [404, 400, 501] } as const
    return await client.request(request, async (reply) => {
      return reply.status < 300 && reply.headers['x-amz-checksum-sha256'] === base64Of(sha256)
    })
  }

  async function write(sha256: string, body: RequestBody): Promise<void> {
    const headers = {
      'content-type': 'application/octet-stream',
      ...(knowsChecksums ? { 'x-amz-checksum-sha256': base64Of(sha256) } : {}),
    }
    const expects = knowsChecksums ? [400, 501] : []
    const request = { method: 'PUT', key: keyOf(sha256), headers, body, sha256, expects } as const
    const status = await client.request(request, async (reply) => reply.status)
    if (status < 300) return
    knowsChecksums = false
    await write(sha256, body)
  }

  async function store(path: string, sha256: string): Promise<boolean> {
    if (knowsChecksums && (await isThere(sha256))) return false
    await write(sha256, await bodyOf(path, sha256))
    return true
  }

  return {
    shown: client.shown,
    async put(path, sha256) {
      const known = stored.get(sha256)
      if (known !== undefined && clock.monotonic() < known.until) {
        await known.storing
        return false
      }
      const storing = store(path, sha256)
      stored.set(sha256, { storing, until: clock.monotonic() + knownMs })
      storing.catch(() => stored.delete(sha256))
      return await storing
    },
    async fetch(sha256, path, maxBytes = maxBlobBytes) {
      if (!digestPattern.test(sha256)) return false
      return await client.request({ method: 'GET', key: keyOf(sha256), expects: [404] }, async (reply) => {
        return reply.status !== 404 && (await saveReply(context, reply, { sha256, maxBytes }, path))
      })
    },
  }
}

function keyOf(sha256: string): string {
  return `${sha256.slice(0, 2)}/${sha256}`
}

function base64Of(sha256: string): string {
  return Buffer.from(sha256, 'hex').toString('base64')
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
