import { isUtf8 } from 'node:buffer'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { FileContext } from '../../context.ts'
import { writeError } from '../../files/file-error.ts'
import { makeFolder } from '../../files/write-target.ts'
import { BrokenOff, wholeReply, type Frame, type Reply } from '../http/reply.ts'
import { RequestProblem } from '../http/request-problem.ts'
import { mapped } from '../json-value.ts'
import type { Exchange } from '../sandbox.ts'
import {
  bytesFrame,
  completing,
  createsSomething,
  eventFrame,
  EventSplitter,
  maxKeptBytes,
  shortPath,
  type ArrivedCall,
} from './call-handler.ts'
import { keyOf, type RecordedRequest } from './recorded-request.ts'
import {
  headerValue,
  recordingText,
  storeBytes,
  writeRecording,
  type RecordedBody,
} from './recording-file.ts'
import { atOrigin, createResultUrls, givesResults, maxRewrittenBytes, resultEndpoint } from './result-urls.ts'
import { assertNoKey, createSecretFilter } from './secret-filter.ts'

type UpstreamRequest = Pick<Exchange, 'headers' | 'signal'> & {
  readonly method: RecordedRequest['method']
  readonly body?: Uint8Array
}

/** With its body as it arrives, in no encoding. */
interface UpstreamReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: AsyncIterable<Uint8Array>
  close(): void
}

/** `gateway/upstream.ts` */
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
  /** Besides the keys that are sent. */
  readonly secrets: readonly string[]
  readonly report: (line: string) => void
}

/** Others are neither passed on nor recorded. */
const keptHeaders =
  /^(?:content-type|content-range|content-disposition|accept-ranges|etag|last-modified|cache-control|location|retry-after|retry-after-ms|x-should-retry|x-request-id|request-id|www-authenticate|openai-version|x-ratelimit-[\w-]+)$/

const maxRefusals = 1000

/**
 * Passes every request on to a gateway, and keeps what came.
 * @throws FileError when the folder cannot be created
 */
export async function createRecorder({ folder, files, upstream, secrets, report }: RecordOptions) {
  const { clock } = files
  const urls = createResultUrls(upstream.baseUrl)
  /** Calls that were recorded, passed on and could not be, and were not since the caller had gone before the end. */
  const counts = { recorded: 0, refused: 0, abandoned: 0 }
  const refusals: { method: string; path: string; reason: string }[] = []
  let number = await nextNumber(folder)

  async function answer(call: ArrivedCall): Promise<Reply> {
    const { request, asked } = call
    const { method } = request
    const { path, origin } = asked
    const started = clock.monotonic()
    const elapsed = () => Math.round(clock.monotonic() - started)
    const recorded = new Date(clock.now()).toISOString()
    const stem = `${String(number++).padStart(4, '0')}-${slugOf(request)}-${keyOf(request).slice(0, 8)}`
    const filter = createSecretFilter([...secrets, ...keysSent(asked, upstream.key)])
    const reply = await sent(call)
    const { status } = reply
    const {
      'content-type': mediaType = '',
      'content-length': length,
      'content-encoding': encoding,
    } = reply.headers
    const headers = recordedHeaders(reply.headers, path)
    const isStream = /^text\/event-stream\b/i.test(mediaType)
    const after_ms = elapsed()

    /** What has arrived, as Latin-1: one character for each byte, so that no character is split. */
    const parts: { readonly ms: number; readonly text: string }[] = []
    const add = (text: string) => void parts.push({ ms: elapsed(), text })
    const bodyOf = async (): Promise<RecordedBody | undefined> => {
      const store = (text: string, type: string) =>
        storeBytes(files, folder, Buffer.from(text, 'latin1'), type)
      const texts = parts.map((part) => part.text)
      if (isStream) {
        const events = await Array.fromAsync(filter.events(texts), (text) => store(text, 'text/plain'))
        return { events: events.map((event, at) => ({ ms: parts[at]!.ms, ...event })) }
      }
      const text = filter.hide(texts.join(''))
      assertNoKey(text)
      return text === '' ? undefined : store(text, mediaType)
    }
    /** Writes what has arrived; a recording that cannot be written never breaks the reply. */
    const keep = async (end: End) => {
      if (end === 'left') return void counts.abandoned++
      try {
        // Such a body could not be decoded.
        if (encoding !== undefined) throw new Error(`the encoding ${encoding.slice(0, 20)} is not known`)
        if (end === 'too large') throw new Error('it is too large')
        const described = Buffer.from(JSON.stringify(request)).toString('latin1')
        if (filter.hide(described) !== described) throw new Error('the request holds the key in use')
        const hidden = mapped(headers, filter.hide)
        const broken_off = end === 'broken off'
        const kept = { status, headers: hidden, after_ms, broken_off, body: await bodyOf() }
        const text = recordingText({ recorded, request, reply: kept })
        assertNoKey(text)
        await writeRecording(files, join(folder, stem), text)
        counts.recorded++
      } catch (error) {
        const reason = (error as Error).message.replace(/\.$/, '')
        const shown = shortPath(filter.hide(path))
        counts.refused++
        if (refusals.length < maxRefusals) refusals.push({ method, path: shown, reason })
        report(`Not recorded: ${method} ${shown}: ${reason}.`)
      }
    }

    const isRedirect = status >= 300 && status < 400
    const givesUrls = /json/i.test(mediaType) && givesResults(path) && status < 300
    const hasLength = length !== undefined && !isStream && !givesUrls && !isRedirect
    const facts = {
      status,
      headers: {
        ...mapped(headers, (value) => atOrigin(value, origin)),
        ...(encoding !== undefined && { 'content-encoding': encoding }),
        ...(hasLength && { 'content-length': length }),
      },
      creates: createsSomething(method, path, status),
    }
    if (isRedirect) {
      // Such a body may repeat the request with its key, and says nothing else.
      reply.close()
      await keep('whole')
      return wholeReply([], undefined, facts)
    }
    const body = givesUrls ? rewritten(reply.body, (json) => urls.rewrite(json, path)) : reply.body
    return { ...facts, frames: passOn(body, isStream, asked, add, keep), isWhole: false }
  }

  function recordedHeaders(all: UpstreamReply['headers'], path: string): Record<string, string> {
    const kept = Object.entries(all).filter(
      ([name, value]) => keptHeaders.test(name) && headerValue.test(value),
    )
    const headers = Object.fromEntries(kept)
    const { location } = headers
    if (location === undefined) return headers
    const { origin, pathname } = upstream.baseUrl
    const requested = new URL(urls.find(path) ?? origin + pathname.replace(/\/+$/, '') + path)
    return { ...headers, location: urls.rewriteLocation(location, requested, path) }
  }

  async function sent({ request: { method }, bytes, asked }: ArrivedCall): Promise<UpstreamReply> {
    const { path, headers, query, signal } = asked
    const request = { method, headers, signal, ...(method === 'POST' && { body: bytes }) }
    const url = urls.find(path)
    if (url === undefined && resultEndpoint(path) !== undefined) {
      throw new RequestProblem(404, 'The gateway has given no such result since this recorder started.')
    }
    try {
      if (url !== undefined) return await upstream.fetch(request, url)
      return await upstream.send(request, query.size === 0 ? path : `${path}?${query}`)
    } catch (error) {
      if (signal.aborted) throw error
      // What was never sent may be sent again.
      const status = (error as { stage?: unknown }).stage === 'connect' ? 503 : 502
      throw new RequestProblem(status, `The upstream gateway did not answer: ${(error as Error).message}`)
    }
  }

  return { answer, stats: () => ({ mode: 'record' as const, ...counts, refusals }) }
}

/** How a body ended; `left` when the caller had gone before. */
type End = 'whole' | 'broken off' | 'too large' | 'left'

/**
 * Passes a body on as it arrives. It is recorded before its end is passed on; not at all when the caller has gone
 * before, unless the event that completes the stream has arrived.
 * @param add takes each event, or each piece of a body that is no stream
 */
async function* passOn(
  body: AsyncIterable<Uint8Array>,
  isStream: boolean,
  { origin, signal }: Exchange,
  add: (text: string) => void,
  keep: (end: End) => Promise<void>,
): AsyncGenerator<Frame> {
  const splitter = new EventSplitter()
  let size = 0
  /** The last byte of what is no stream: with it the caller may have it all. */
  let last = Buffer.alloc(0)
  let end: End = 'left'
  try {
    for await (const chunk of body) {
      const bytes = Buffer.from(chunk)
      size += bytes.length
      const latin1 = bytes.toString('latin1')
      if (size > maxKeptBytes) {
        yield isStream ? eventFrame(bytes) : bytesFrame(Buffer.concat([last, bytes]))
        last = Buffer.alloc(0)
      } else if (isStream) {
        for (const { text, event } of splitter.push(latin1)) {
          if (event !== undefined) add(event)
          if (event !== undefined && completing.test(event)) end = 'whole'
          if (text !== '') yield eventFrame(Buffer.from(text, 'latin1'))
        }
      } else {
        add(latin1)
        const passed = Buffer.concat([last, Buffer.from(atOrigin(latin1, origin), 'latin1')])
        yield bytesFrame(passed.subarray(0, -1))
        last = passed.subarray(-1)
      }
    }
    end = 'whole'
  } catch (error) {
    if (signal.aborted) throw error
    end = 'broken off'
  } finally {
    if (splitter.open !== '') add(splitter.open)
    await keep(size > maxKeptBytes ? 'too large' : end)
  }
  yield bytesFrame(last)
  if (end === 'broken off') throw new BrokenOff()
}

/** A JSON document with other addresses of results; one that is too large, or no text, as it is. */
async function* rewritten(
  body: AsyncIterable<Uint8Array>,
  rewrite: (json: string) => string,
): AsyncGenerator<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  const rest = () => {
    const bytes = Buffer.concat(chunks)
    return isUtf8(bytes) ? Buffer.from(rewrite(bytes.toString('utf8'))) : bytes
  }
  try {
    for await (const chunk of body) {
      size += chunk.length
      chunks.push(chunk)
      if (size > maxRewrittenBytes) yield Buffer.concat(chunks.splice(0))
    }
  } catch (error) {
    yield rest()
    throw error
  }
  yield rest()
}

async function nextNumber(folder: string): Promise<number> {
  try {
    await makeFolder(folder)
    const numbers = (await readdir(folder)).map((name) => Number(/^(\d{1,9})-.*\.json$/.exec(name)?.[1] ?? 0))
    return Math.max(0, ...numbers) + 1
  } catch (error) {
    throw writeError(error, folder)
  }
}

function keysSent({ headers, query }: Exchange, configured: string | undefined): string[] {
  if (configured !== undefined) return [configured]
  const { authorization, 'x-goog-api-key': google } = headers
  return [authorization?.replace(/^\S+\s+/, ''), google, query.get('key')].flatMap((key) => key ?? [])
}

/** `post-v1-responses`, safe in a file name. */
function slugOf({ method, path }: RecordedRequest): string {
  const words = `${method}${path.split('?')[0]}`.toLowerCase().split(/[^a-z\d]+/)
  return words.join('-').slice(0, 60).replace(/-+$/, '')
}
