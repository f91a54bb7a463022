import { isUtf8 } from 'node:buffer'
import { readdir } from 'node:fs/promises'
import { yieldToEventLoop, type FileContext } from '../../context.ts'
import { writeError } from '../../files/file-error.ts'
import { makeFolder } from '../../files/write-target.ts'
import { wholeReply, type Reply } from '../http/reply.ts'
import { RequestProblem } from '../http/request-problem.ts'
import type { RecordStats } from '../request-log.ts'
import type { Exchange } from '../sandbox.ts'
import { callMatch, createsSomething, shortPath, type ArrivedCall, type CallMatcher } from './call-handler.ts'
import { createSecretSearch } from './find-secrets.ts'
import { passBytes, passEvents, passRewritten, streamed, type UpstreamReply } from './pass-on.ts'
import { keyOf, type RecordedRequest } from './recorded-request.ts'
import { headerValue, writeRecording, type RecordedBody } from './recording-file.ts'
import { atOrigin, createResultUrls, givesResults, resultEndpoint } from './result-urls.ts'

interface UpstreamRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly headers: Exchange['headers']
  readonly body?: Uint8Array | undefined
  readonly signal: AbortSignal
}

/** How the recorder reaches the gateway; see `gateway/upstream.ts`. */
interface RecordedUpstream {
  readonly baseUrl: URL
  readonly key: string | undefined
  send(request: UpstreamRequest, path: string): Promise<UpstreamReply>
  fetch(request: UpstreamRequest, url: string): Promise<UpstreamReply>
}

export interface RecordOptions {
  /** An absolute path. */
  readonly folder: string
  readonly files: FileContext
  readonly upstream: RecordedUpstream
  /** Secrets besides the keys that are sent, which must not be in a recording. */
  readonly secrets: readonly string[]
  /** Called with one line for each call that could not be recorded. */
  readonly report: (line: string) => void
}

export type Recorder = Awaited<ReturnType<typeof createRecorder>>

/** Of a reply, only these headers are passed on and recorded. */
const keptHeaders =
  /^(?:content-type|content-range|content-disposition|accept-ranges|etag|last-modified|cache-control|location|retry-after|retry-after-ms|x-should-retry|x-request-id|request-id|www-authenticate|openai-version|x-ratelimit-[\w-]+)$/

/** Bytes of a request that are searched before other requests get their turn. */
const searchedAtOnce = 1024 * 1024

/** At most so many refusals are listed. */
const maxRefusals = 1000

/**
 * Passes every request on to a gateway, and keeps what came.
 * @param matchOf what fault rules take from a path: the name of its endpoint, and the model
 * @throws FileError when the folder cannot be created
 */
export async function createRecorder(
  { folder, files, upstream, secrets, report }: RecordOptions,
  matchOf: CallMatcher,
) {
  const { clock } = files
  const urls = createResultUrls(upstream.baseUrl)
  const listed: RecordStats['refusals'][number][] = []
  let number = await nextNumber(folder)
  let recorded = 0
  let refusals = 0
  let abandoned = 0

  const refuse = (method: string, path: string, reason: string) => {
    refusals++
    if (listed.length < maxRefusals) listed.push({ method, path, reason })
    report(`Not recorded: ${method} ${path}: ${reason}.`)
  }

  async function answer({ method, path, bytes, request, asked }: ArrivedCall): Promise<Reply> {
    const started = clock.monotonic()
    const at = new Date(clock.now()).toISOString()
    const ownNumber = number++
    const search = createSecretSearch([...secrets, ...keysSent(asked, upstream.key)])
    search.look(request.path, 'path')
    const shown = search.found === undefined ? shortPath(path) : '[hidden]'
    const refused = (reason: string) => refuse(method, shown, reason)
    for (let start = 0; start < bytes.length; start += searchedAtOnce) {
      if (start > 0) await yieldToEventLoop()
      search.look(bytes.toString('latin1', start, start + searchedAtOnce), 'request')
    }
    const reply = await sent(method, path, bytes, asked)
    /** Only of one that could not be decoded. */
    const { 'content-encoding': encoding } = reply.headers
    const kept = Object.entries(reply.headers).filter(
      ([name, value]) => keptHeaders.test(name) && headerValue.test(value),
    )
    const recordedHeaders = Object.fromEntries(kept)
    if (recordedHeaders['location'] !== undefined) {
      const { origin, pathname } = upstream.baseUrl
      const requested = new URL(urls.find(path) ?? origin + pathname.replace(/\/+$/, '') + path)
      recordedHeaders['location'] = urls.rewriteLocation(recordedHeaders['location'], requested, path)
    }
    for (const value of Object.values(recordedHeaders)) search.look(value, 'headers')
    const afterMs = Math.round(clock.monotonic() - started)

    /** Writes what has come; a recording that cannot be written never breaks the reply. */
    const keep = async (body: () => Promise<RecordedBody | undefined>, isBrokenOff: boolean) => {
      if (encoding !== undefined) return refused(`the encoding ${encoding.slice(0, 20)} is not known`)
      if (search.found !== undefined) return refused(`it holds ${search.found}`)
      try {
        const content = await body()
        const came = {
          status: reply.status,
          headers: recordedHeaders,
          after_ms: afterMs,
          broken_off: isBrokenOff,
          ...(content !== undefined && { body: content }),
        }
        const stem = `${String(ownNumber).padStart(4, '0')}-${slugOf(request)}-${keyOf(request).slice(0, 8)}`
        const recording = { recorded: at, request, reply: came }
        await writeRecording(files, folder, stem, recording)
        recorded++
      } catch (error) {
        refused((error as Error).message.replace(/\.$/, ''))
      }
    }

    const { origin } = asked
    const facts = {
      status: reply.status,
      headers: {
        ...sentHeaders(recordedHeaders, origin),
        ...(encoding !== undefined && { 'content-encoding': encoding }),
      },
      creates: createsSomething(method, path, reply.status),
    }
    const isRedirect = reply.status >= 300 && reply.status < 400
    if (isRedirect) {
      // Such a body may repeat the request with its key, and says nothing else.
      reply.close()
      await keep(async () => undefined, false)
      return wholeReply([], undefined, facts)
    }
    const source = {
      reply,
      folder,
      clock,
      started,
      signal: asked.signal,
      search,
      keep,
      abandon: () => void abandoned++,
    }
    const mediaType = reply.headers['content-type'] ?? ''
    if (/^text\/event-stream\b/i.test(mediaType)) return { ...streamed, ...facts, frames: passEvents(source) }
    if (/json/i.test(mediaType) && givesResults(path) && reply.status < 300) {
      const rewrite = (json: string) => urls.rewrite(json, path)
      return { ...facts, ...(await passRewritten(source, rewrite, origin)) }
    }
    const length = reply.headers['content-length']
    const headers = { ...facts.headers, ...(length !== undefined && { 'content-length': length }) }
    return { ...streamed, ...facts, headers, frames: passBytes(source, reply.body) }
  }

  async function sent(method: string, path: string, bytes: Buffer, asked: Exchange) {
    const { headers, query, signal } = asked
    const request = {
      method: method as UpstreamRequest['method'],
      headers,
      signal,
      ...(method === 'POST' && { body: restored(bytes, asked) }),
    }
    const url = urls.find(path)
    if (url === undefined && resultEndpoint(path) !== undefined) {
      throw new RequestProblem(404, 'The gateway has given no such result since this recorder started.')
    }
    try {
      if (url !== undefined) return await upstream.fetch(request, url)
      const passedPath = query.size === 0 ? path : `${path}?${query}`
      return await upstream.send(request, urls.restore(passedPath, asked.origin))
    } catch (error) {
      if (signal.aborted) throw error
      // What was never sent may be sent again.
      const status = (error as { stage?: unknown }).stage === 'connect' ? 503 : 502
      throw new RequestProblem(status, `The upstream gateway did not answer: ${(error as Error).message}`)
    }
  }

  /** Addresses of results that a request names mean those at the gateway. */
  function restored(bytes: Buffer, { headers, origin }: Exchange): Buffer {
    if (!/json/i.test(headers['content-type'] ?? '') || !bytes.includes(origin)) return bytes
    return isUtf8(bytes) ? Buffer.from(urls.restore(bytes.toString('utf8'), origin)) : bytes
  }

  return {
    /** Finds how a request is answered: by the gateway. */
    find: (method: string, path: string) => callMatch(method, path, matchOf, answer),
    stats: (): RecordStats => ({ mode: 'record', recorded, refused: refusals, abandoned, refusals: listed }),
  }
}

/** Recordings are added to those that the folder has. */
async function nextNumber(folder: string): Promise<number> {
  try {
    await makeFolder(folder)
    const numbers = (await readdir(folder)).map((name) => Number(/^(\d{1,9})-.*\.json$/.exec(name)?.[1] ?? 0))
    return Math.max(0, ...numbers) + 1
  } catch (error) {
    throw writeError(error, folder)
  }
}

/** The keys that go to the gateway: the configured one in place of the caller's. */
function keysSent({ headers, query }: Exchange, configured: string | undefined): string[] {
  if (configured !== undefined) return [configured]
  const google = headers['x-goog-api-key']
  const own = [headers.authorization?.replace(/^\S+\s+/, ''), typeof google === 'string' ? google : undefined]
  return [...own, query.get('key') ?? undefined].filter((key) => key !== undefined && key !== '') as string[]
}

/** `post-v1-responses`, safe in a file name. */
function slugOf({ method, path }: RecordedRequest): string {
  const plain = path
    .split('?')[0]!
    .toLowerCase()
    .replace(/[^a-z\d]+/g, '-')
  return `${method.toLowerCase()}${plain}`.slice(0, 60).replace(/-+$/, '')
}

function sentHeaders(headers: Readonly<Record<string, string>>, origin: string): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, atOrigin(value, origin)]))
}
