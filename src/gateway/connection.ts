import type { LookupFunction } from 'node:net'
import type { Dispatcher } from 'undici'
import { isLoopback } from '../contract/loopback.ts'
import { ExchangeError } from './exchange-error.ts'
import type { ReadMemory } from './read-memory.ts'
import Client from 'undici/lib/dispatcher/client.js'

/** How the program reaches the network. */
export interface ConnectionOptions {
  /** Certificates (PEM) to trust instead of the built-in ones. */
  readonly ca?: string
  /** `HTTPS_PROXY` and its kind, as the environment gives them. */
  readonly proxies?: Proxies
  /** Finds the addresses of a host that is reached without a proxy; these and no others are connected to. */
  readonly lookup?: LookupFunction
}

export interface Proxies {
  readonly http: string | undefined
  readonly https: string | undefined
  readonly except: string
}

/** Reads the proxy variables of an environment; undefined when none is set. Lower case wins, as in curl. */
export function proxiesFrom(env: Readonly<Record<string, string | undefined>>): Proxies | undefined {
  const read = (name: string) => env[name.toLowerCase()] || env[name] || undefined
  const http = withScheme(read('HTTP_PROXY') ?? read('ALL_PROXY'))
  const https = withScheme(read('HTTPS_PROXY') ?? read('ALL_PROXY'))
  if (http === undefined && https === undefined) return undefined
  return { http, https: https ?? http, except: read('NO_PROXY') ?? '' }
}

function withScheme(proxy: string | undefined): string | undefined {
  return proxy === undefined || proxy.includes('://') ? proxy : `http://${proxy}`
}

/** The way to one origin, for one exchange. */
export interface Connection {
  readonly dispatcher: Dispatcher
  /** Ends it at once, in whatever state it is. Safe to call more than once. */
  destroy(): void
}

/**
 * Opens the way to an origin. A fresh connection each time rules out that a request
 * is written to a socket which the server has just closed. This machine is reached directly, whatever proxies
 * are set: a key that may go there in clear text must not leave the machine.
 * Only undici's client module is loaded: importing all of undici takes longer than a whole request.
 * @throws ExchangeError when the address of the proxy is none
 */
export async function openConnection(
  origin: string,
  options: ConnectionOptions,
  memory: ReadMemory,
): Promise<Connection> {
  const controller = new AbortController()
  const connect = {
    // Our own timers decide (see exchange.ts): undici's are coarse and know no phases.
    timeout: 0,
    // undici leaves a socket alone that is still connecting; it would keep the program from ending.
    signal: controller.signal,
    ...(options.ca === undefined ? {} : { ca: options.ca }),
  }
  const direct = {
    ...connect,
    onread: memory,
    ...(options.lookup === undefined ? {} : { lookup: options.lookup }),
  }
  const common = { headersTimeout: 0, bodyTimeout: 0, allowH2: false, connect: direct }
  const dispatcher =
    options.proxies === undefined || isLoopback(new URL(origin).hostname)
      ? new Client(origin, common)
      : await proxyDispatcher(options.proxies, {
          ...common,
          requestTls: connect,
          proxyTls: connect,
        })
  return {
    dispatcher,
    destroy() {
      controller.abort()
      // Destroying rather than closing: nothing more is wanted from this connection.
      void dispatcher.destroy().catch(() => {})
    },
  }
}

async function proxyDispatcher(proxies: Proxies, common: object): Promise<Dispatcher> {
  const [{ default: EnvHttpProxyAgent }, { default: connect }] = await Promise.all([
    import('undici/lib/dispatcher/env-http-proxy-agent.js'),
    import('undici/lib/api/api-connect.js'),
  ])
  try {
    return new EnvHttpProxyAgent({
      ...common,
      // Only the whole of undici gives its clients the method that opens a tunnel.
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
