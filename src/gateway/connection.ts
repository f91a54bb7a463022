import Client from 'undici/lib/dispatcher/client.js'
import undiciSymbols from 'undici/lib/core/symbols.js'
import { subscribe } from 'node:diagnostics_channel'
import type { LookupFunction, Socket } from 'node:net'
import type { Dispatcher } from 'undici'
import { maxHeaderBytes } from '../limits.ts'
import { isLoopback } from '../loopback.ts'
import { ExchangeError, isClientCertificateAlert } from './exchange-error.ts'

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

/**
 * A fresh connection each time rules out that a request is written to a socket which the server has just closed. This machine
 * is reached directly, whatever proxies are set: a key that may go there in clear text must not leave it.
 * Only undici's client module is loaded: importing all of undici takes longer than a whole request.
 * @throws ExchangeError when the address of the proxy is not valid
 */
export async function openConnection(origin: string, options: ConnectionOptions, memory: ReadMemory) {
  const controller = new AbortController()
  const connect = {
    // Our own timers decide (see exchange.ts): undici's are coarse and do not distinguish phases.
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

/** One for all: each error of its own would take the trace of its stack. */
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
export function createReadMemory(isInUse: (memory: ArrayBufferLike) => boolean): ReadMemory {
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
