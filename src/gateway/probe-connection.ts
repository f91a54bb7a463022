import { lookup } from 'node:dns/promises'
import { connect, isIP, type Socket } from 'node:net'
import type { PeerCertificate } from 'node:tls'
import type { Clock } from '../context.ts'
import type { Proxies } from './connection.ts'
import { classifyFault, ExchangeError } from './exchange-error.ts'

/** For one step of looking at a connection. */
export interface ProbeContext {
  readonly clock: Clock
  readonly signal: AbortSignal
  /** For each step, in milliseconds. */
  readonly limitMs: number
}

/** The proxy that requests to an address go through; undefined for none. As undici's EnvHttpProxyAgent chooses it. */
export function proxyFor(url: URL, proxies: Proxies | undefined): string | undefined {
  if (proxies === undefined) return undefined
  const host = bareHost(url)
    .toLowerCase()
    .replace(/(.)\.$/, '$1')
  const port = portOf(url)
  const isExcepted = proxies.except.split(/[,\s]+/).some((entry) => {
    const [name, only] = exceptionOf(entry.toLowerCase())
    if (name === '' || (only !== undefined && only !== port)) return false
    const plain = name.replace(/^\*?\./, '').replace(/(.)\.$/, '$1')
    return name === '*' || (!name.startsWith('*') && host === plain) || host.endsWith(`.${plain}`)
  })
  if (isExcepted) return undefined
  return url.protocol === 'https:' ? (proxies.https ?? proxies.http) : proxies.http
}

/** A host of `NO_PROXY`, and its port if it has one; an IPv6 address has more colons than one. */
function exceptionOf(entry: string): readonly [name: string, port: string | undefined] {
  const [, name, port] = /^\[(.+)\](?::(\d+))?$/.exec(entry) ?? /^([^:]+):(\d+)$/.exec(entry) ?? []
  return name === undefined ? [entry, undefined] : [name, port]
}

/** The name of a host, without the brackets of an IPv6 address. */
export function bareHost({ hostname }: URL): string {
  return hostname.replace(/^\[(.+)\]$/, '$1')
}

/** The port of an address, also where it is the usual one of its scheme. */
export function portOf({ port, protocol }: URL): string {
  return port || (protocol === 'https:' ? '443' : '80')
}

/**
 * The addresses of a host.
 * @throws ExchangeError; the signal's reason
 */
export async function resolveHost(url: URL, context: ProbeContext): Promise<readonly string[]> {
  const host = bareHost(url)
  if (isIP(host) !== 0) return [host]
  const found = await bounded(url, context, async () => lookup(host, { all: true }))
  return found.map(({ address }) => address)
}

/**
 * Connects to a host.
 * @returns the open socket, for `handshake` or to be destroyed
 * @throws ExchangeError; the signal's reason
 */
export async function connectTo(url: URL, context: ProbeContext): Promise<Socket> {
  const socket = connect({ host: bareHost(url), port: Number(portOf(url)), autoSelectFamily: true })
  try {
    await bounded(
      url,
      context,
      () =>
        new Promise<void>((resolve, reject) => {
          socket.once('connect', resolve)
          socket.once('error', reject)
        }),
    )
    return socket
  } catch (error) {
    socket.destroy()
    throw error
  }
}

/** What a server shows of itself in a TLS handshake. */
export interface Handshake {
  readonly protocol: string | null
  /** Why the certificate is not trusted, as Node's code; undefined when it is. */
  readonly distrust: string | undefined
  readonly certificate: PeerCertificate
}

/**
 * Shakes hands on an open socket, whatever the certificate is, and sends nothing.
 * @param ca PEM; undefined for the built-in authorities
 * @throws ExchangeError; the signal's reason
 */
export async function handshake(
  url: URL,
  socket: Socket,
  ca: string | undefined,
  context: ProbeContext,
): Promise<Handshake> {
  const tls = await import('node:tls')
  const host = bareHost(url)
  const secure = tls.connect({
    socket,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(ca === undefined ? {} : { ca }),
    // Only looked at: the requests themselves refuse what is not trusted.
    rejectUnauthorized: false,
  })
  try {
    await bounded(
      url,
      context,
      () =>
        new Promise<void>((resolve, reject) => {
          secure.once('secureConnect', resolve)
          secure.once('error', reject)
          secure.once('close', () => reject(Object.assign(new Error('closed'), { code: 'ECONNRESET' })))
        }),
    )
    const certificate = secure.getPeerCertificate()
    const names = tls.checkServerIdentity(host, certificate) as NodeJS.ErrnoException | undefined
    const distrust = secure.authorized ? names?.code : String(secure.authorizationError)
    return { protocol: secure.getProtocol(), distrust, certificate }
  } finally {
    secure.on('error', () => {})
    secure.destroy()
  }
}

async function bounded<Value>(
  url: URL,
  { clock, signal, limitMs }: ProbeContext,
  step: () => Promise<Value>,
): Promise<Value> {
  signal.throwIfAborted()
  let stop = () => {}
  const ended = new Promise<never>((_, reject) => {
    const timer = clock.timer(limitMs, () => {
      reject(
        new ExchangeError('connect', 'timeout', `${url.host} did not answer within ${limitMs / 1000} s.`),
      )
    })
    const onAbort = () => reject(signal.reason as Error)
    signal.addEventListener('abort', onAbort, { once: true })
    stop = () => {
      timer.cancel()
      signal.removeEventListener('abort', onAbort)
    }
  })
  try {
    return await Promise.race([step(), ended])
  } catch (error) {
    if (error instanceof ExchangeError || signal.aborted) throw error
    throw classifyFault('connect', url, error)
  } finally {
    stop()
  }
}
