import type { Dispatcher } from 'undici'
import Client from 'undici/lib/dispatcher/client.js'

/** How the program reaches the network. */
export interface ConnectionOptions {
  /** Certificates (PEM) to trust instead of the built-in ones. */
  readonly ca?: string
  /** `HTTPS_PROXY` and its kind, as the environment gives them. */
  readonly proxies?: Proxies
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

/**
 * A dispatcher for one exchange. A fresh connection each time rules out that a request
 * is written to a socket which the server has just closed.
 * Only undici's client module is loaded: importing all of undici takes longer than a whole request.
 */
export async function openConnection(origin: string, options: ConnectionOptions): Promise<Dispatcher> {
  const common = {
    // Our own timers decide (see exchange.ts): undici's are coarse and know no phases.
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
    connect: { timeout: 0, ...(options.ca === undefined ? {} : { ca: options.ca }) },
  }
  if (options.proxies === undefined) return new Client(origin, common)
  const { default: EnvHttpProxyAgent } = await import('undici/lib/dispatcher/env-http-proxy-agent.js')
  return new EnvHttpProxyAgent({
    ...common,
    ...(options.proxies.http === undefined ? {} : { httpProxy: options.proxies.http }),
    ...(options.proxies.https === undefined ? {} : { httpsProxy: options.proxies.https }),
    noProxy: options.proxies.except,
    ...(options.ca === undefined ? {} : { requestTls: { ca: options.ca } }),
  })
}
