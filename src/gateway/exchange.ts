import Client from 'undici/lib/dispatcher/client.js'
import undiciSymbols from 'undici/lib/core/symbols.js'
import { subscribe } from 'node:diagnostics_channel'
import type { LookupFunction, Socket } from 'node:net'
import type { Dispatcher } from 'undici'
import { tuneForLongWork, type Clock } from '../context.ts'
import { Interrupted, ModelgateError } from '../errors.ts'
import { maxHeaderBytes } from '../limits.ts'
import { isLoopback } from '../loopback.ts'
import {
  DeadlinePassed,
  ExchangeError,
  classifyFault,
  isClientCertificateAlert,
  type Stage,
} from './exchange-error.ts'
import { createWatchdog } from './time-limits.ts'

/** The limits of one exchange in milliseconds; undefined means no limit. */
export interface TimeLimits {
  readonly connect: number | undefined
  readonly firstByte: number | undefined
  /** Between two chunks of the reply, or two slices of the request that the system takes. */
  readonly idle: number | undefined
}

/** A body that can be sent again: its chunks from the beginning. */
export interface RequestBody {
  readonly length: number
  chunks(): Iterable<Uint8Array> | AsyncIterable<Uint8Array>
}

export interface ExchangeRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE'
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body?: RequestBody
  readonly onReplyBytes?: ((bytes: Uint8Array) => void) | undefined
}

export type ReplyHeaders = Readonly<Record<string, string>>

export interface Reply {
  readonly status: number
  /** Names in lower case; repeated headers are joined with a comma. */
  readonly headers: ReplyHeaders
  /** The bytes as received, in memory that is reused: a chunk is valid until the next is requested. */
  readonly body: AsyncIterable<Uint8Array>
  close(): void
}

export interface ConnectionOptions {
  /** Certificates (PEM) to trust instead of the built-in ones. */
  readonly ca?: string
  /** Proxies from `HTTPS_PROXY` and similar environment variables. */
  readonly proxies?: Proxies
  /** Finds the addresses of a host that is reached without a proxy; these and no others are connected to. */
  readonly lookup?: LookupFunction
}

/** The proxy for each scheme, and the hosts that are reached without one, as `NO_PROXY` has them. */
export interface Proxies {
  readonly http: string | undefined
  readonly https: string | undefined
  readonly except: string
}

interface ExchangeOptions extends ConnectionOptions {
  readonly clock: Clock
  readonly limits: TimeLimits
  readonly signal: AbortSignal
}

/** How much of a request is handed over at a time: little enough for any line to send it within the idle limit. */
const sliceBytes = 131_072
const pauseAbove = 16
/** An exchange of more bytes, in either direction, is a long one: the young generation of the heap is large enough then. */
const longExchangeBytes = 3_000_000
/** A server may send informational responses (103), but not forever (fault B11). */
const maxInformational = 100

/**
 * One HTTP exchange on a connection of its own: no redirects, no retries, no decompression.
 * @throws ExchangeError with the stage that was reached (also for a DeadlinePassed); else the signal's reason.
 */
export async function exchange(request: ExchangeRequest, options: ExchangeOptions): Promise<Reply> {
  const { clock, limits, signal } = options
  const host = request.url.host
  const queue: Uint8Array[] = []
  let held: Uint8Array | undefined
  const memory = createReadMemory(
    (known) => held?.buffer === known || queue.some(({ buffer }) => buffer === known),
  )
  const connection = await openConnection(request.url.origin, options, memory)
  // An abort before this line has no listener yet.
  if (signal.aborted) throw abortError(signal, 'connect', request)
  const watchdog = createWatchdog(clock)
  let stage: Stage = 'connect'
  let controller: Dispatcher.DispatchController | undefined
  let failure: Error | undefined
  let ended = false
  let isSuccess = false
  let informational = 0
  let moved = 0
  const count = (chunk: Uint8Array) => {
    moved += chunk.length
    if (moved > longExchangeBytes) tuneForLongWork()
  }
  let wakeReader = () => {}

  return new Promise<Reply>((resolve, reject) => {
    const sent = request.body === undefined ? null : sendBody(request.body)
    const finish = () => {
      watchdog.stop()
      signal.removeEventListener('abort', onAbort)
      connection.destroy()
    }
    const fail = (error: Error) => {
      if (failure !== undefined || ended) return
      failure = error
      finish()
      reject(error)
      wakeReader()
    }
    const onAbort = () => fail(abortError(signal, stage, request))
    const expireAfter = (limit: number | undefined, message: (time: string) => string) => {
      const text = message(`${(limit ?? 0) / 1000} s`)
      watchdog.watch(limit, () => fail(new ExchangeError(stage, 'timeout', text)))
    }
    const expireIdle = () => expireAfter(limits.idle, (time) => `${host} sent no more data for ${time}.`)
    signal.addEventListener('abort', onAbort, { once: true })
    expireAfter(limits.connect, (time) => `No connection to ${host} within ${time}.`)

    async function* sendBody(body: RequestBody): AsyncGenerator<Uint8Array> {
      expireAfter(limits.idle, (time) => `Sending the request to ${host} made no progress for ${time}.`)
      try {
        for await (const chunk of body.chunks()) {
          count(chunk)
          for (let at = 0; at < chunk.length; at += sliceBytes) {
            yield chunk.subarray(at, at + sliceBytes)
            watchdog.touch()
          }
        }
      } catch (error) {
        if (stage === 'send') fail(sourceError(error))
        throw error
      }
      bodyHandedOver()
    }
    const bodyHandedOver = () => {
      // The reply may come before all of the request has been sent (an early 413).
      if (stage !== 'send') return
      stage = 'wait'
      expireAfter(limits.firstByte, (time) => `No reply from ${host} within ${time}.`)
    }

    async function* readBody(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) {
          if (queue.length > 0) {
            const chunk = queue.shift()!
            if (queue.length === 0 && controller?.paused) {
              expireIdle()
              controller.resume()
            }
            held = chunk
            yield chunk
            held = undefined
          } else if (failure !== undefined) throw failure
          else if (ended) return
          else await new Promise<void>((resolve) => (wakeReader = resolve))
        }
      } finally {
        close()
      }
    }
    const close = () => {
      ended = true
      finish()
      wakeReader()
    }

    connection.dispatcher.dispatch(
      {
        origin: request.url.origin,
        path: request.url.pathname + request.url.search,
        method: request.method,
        headers: {
          ...request.headers,
          ...(request.body === undefined ? {} : { 'content-length': String(request.body.length) }),
        },
        body: sent as never,
        reset: true,
      },
      {
        onRequestStart(started) {
          controller = started
          if (failure !== undefined) return started.abort(failure)
          stage = 'send'
          if (request.body === undefined) bodyHandedOver()
        },
        onResponseStart(_, status, headers) {
          if (status < 200) {
            if (++informational > maxInformational) {
              fail(new ExchangeError(stage, 'protocol', `${host} sent only informational (1xx) responses.`))
            }
            return
          }
          stage = 'stream'
          isSuccess = status < 300
          expireIdle()
          resolve({ status, headers: plainHeaders(headers), body: readBody(), close })
        },
        onResponseData(_, chunk) {
          if (isSuccess) request.onReplyBytes?.(chunk)
          watchdog.touch()
          count(chunk)
          queue.push(chunk)
          if (queue.length > pauseAbove) {
            // While our own reader is slow, the sender's silence is not its fault.
            watchdog.stop()
            controller?.pause()
          }
          wakeReader()
        },
        onResponseEnd() {
          ended = true
          finish()
          wakeReader()
        },
        onResponseError(_, error) {
          fail(error instanceof ExchangeError ? error : classifyFault(stage, request.url, error))
        },
      },
    )
  })
}

function abortError({ reason }: AbortSignal, stage: Stage, { method }: ExchangeRequest): Error {
  if (reason instanceof DeadlinePassed) return new ExchangeError(stage, 'deadline', reason.message)
  // Only a whole request can have been accepted, and reading creates nothing.
  const mayBeBilled = method === 'POST' && (stage === 'wait' || stage === 'stream')
  return reason instanceof Interrupted && mayBeBilled
    ? reason.amend({ phase: stage, billed: 'maybe' })
    : (reason as Error)
}

/** A file that can no longer be read is a local error, not the gateway's. */
function sourceError(error: unknown): Error {
  if (error instanceof ModelgateError) return error
  const reason = error instanceof Error ? error.message : String(error)
  return new ExchangeError('send', 'source', `The request body cannot be read: ${reason}.`, error)
}

function plainHeaders(headers: Readonly<Record<string, string | string[] | undefined>>): ReplyHeaders {
  const plain: Record<string, string> = Object.create(null) as Record<string, string>
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) plain[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value
  }
  return plain
}

export function requestIdOf(headers: ReplyHeaders): string | undefined {
  const id =
    headers['x-request-id'] ?? headers['request-id'] ?? headers['x-oneapi-request-id'] ?? headers['cf-ray']
  return id === undefined ? undefined : id.replaceAll(/[^\x21-\x7e]/g, '').slice(0, 200) || undefined
}

/**
 * A fresh connection each time rules out that a request is written to a socket which the server has just closed. This machine
 * is reached directly, whatever proxies are set: a key that may go there in clear text must not leave it.
 * Only undici's client module is loaded: importing all of undici takes longer than a whole request.
 * @throws ExchangeError when the address of the proxy is not valid
 */
async function openConnection(origin: string, options: ConnectionOptions, memory: ReadMemory) {
  const controller = new AbortController()
  const connect = {
    // Our own timers decide (see `exchange`): undici's are coarse and do not distinguish phases.
    timeout: 0,
    // undici does not destroy a socket that is still connecting, which would keep the program from ending.
    signal: controller.signal,
    // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED=0 would otherwise send the key to an unverified server.
    rejectUnauthorized: true,
    ca: options.ca,
  }
  const common = {
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
    connect: { ...connect, onread: memory, lookup: options.lookup },
  }
  const dispatcher: Dispatcher =
    options.proxies === undefined || isLoopback(new URL(origin).hostname)
      ? new Client(origin, common)
      : await proxyDispatcher(options.proxies, { ...common, requestTls: connect, proxyTls: connect })
  return {
    dispatcher,
    destroy() {
      controller.abort(isOver)
      // Destroyed rather than closed: nothing more is expected from this connection.
      void dispatcher.destroy(isOver).catch(() => {})
    },
  }
}

/** Shared, because creating an error captures a stack trace. */
const isOver = new Error('The exchange is over.')

async function proxyDispatcher(proxies: Proxies, common: object): Promise<Dispatcher> {
  const [{ default: EnvHttpProxyAgent }, { default: connect }] = await Promise.all([
    import('undici/lib/dispatcher/env-http-proxy-agent.js'),
    import('undici/lib/api/api-connect.js'),
  ])
  try {
    return new EnvHttpProxyAgent({
      ...common,
      // Only all of undici adds the method that opens a tunnel to its clients.
      clientFactory: (origin: URL, options: object) =>
        Object.assign(new Client(origin, options), { connect }),
      ...(proxies.http === undefined ? {} : { httpProxy: proxies.http }),
      ...(proxies.https === undefined ? {} : { httpsProxy: proxies.https }),
      noProxy: proxies.except,
    })
  } catch (error) {
    throw new ExchangeError('connect', 'proxy', 'The address of the proxy is not valid.', error)
  }
}

interface ReplyParser {
  onHeadersComplete(status: number, ...rest: unknown[]): number
}

/** The channel of every request, also through a proxy (undici's documentation, "Diagnostics Channel Support"). */
const requestSent = 'undici:client:sendHeaders'

/** Sockets that have been prepared: others in this process may use undici for many requests. */
const prepared = new WeakSet<Socket>()

subscribe(requestSent, (message) => {
  const { socket } = message as { readonly socket: Socket & Partial<Record<symbol, ReplyParser>> }
  if (prepared.has(socket)) return
  prepared.add(socket)
  const parser = socket[undiciSymbols.kParser]
  if (parser !== undefined) passContinueOn(parser)
  // The end of the connection follows, and undici would report that in place of the reason.
  socket.once('error', (error) => {
    if (isClientCertificateAlert(error)) socket.destroy(error)
  })
})

/** undici ends the connection for an unsolicited `100 Continue` (RFC 9110, 15.2.1), but passes all other 1xx on. */
function passContinueOn(parser: ReplyParser): void {
  const read = parser.onHeadersComplete
  parser.onHeadersComplete = (status, ...rest) => read.call(parser, status === 100 ? 102 : status, ...rest)
}

/** Makes a socket read into memory of ours: the option `onread` of `net.connect` and `tls.connect`. */
interface ReadMemory {
  buffer(): Uint8Array
  /** False pauses reading until more is requested. */
  callback(this: Socket, length: number, memory: Uint8Array): boolean
}

/**
 * How many bytes a read takes at most: the next size once one has been filled. Most replies fit into the first, and a run may
 * have thousands; later each read costs a turn of the event loop. Measured on 23 MB: more than the last takes more memory.
 */
const sizes = [4_096, 65_536, 393_216] as const

/** Memory that is reused once its content has been consumed; Node would allocate and clear new memory for each read. */
function createReadMemory(isInUse: (memory: ArrayBufferLike) => boolean): ReadMemory {
  let step = 0
  let size: number = sizes[0]
  let next: Uint8Array = Buffer.allocUnsafeSlow(size)
  let known = [next]
  const addNew = () => {
    const added = Buffer.allocUnsafeSlow(size)
    known.push(added)
    return added
  }
  return {
    buffer: () => next,
    callback(length, memory) {
      if (length === size && step < sizes.length - 1) {
        size = sizes[++step]!
        known = []
      }
      // What the socket still holds may be in any of them.
      const mayBeFree = this.readableLength === 0
      const isFree = (one: Uint8Array) => mayBeFree && one !== memory && !isInUse(one.buffer)
      next = known.find(isFree) ?? addNew()
      return this.push(memory.subarray(0, length))
    },
  }
}
