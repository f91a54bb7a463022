import { maxHeaderBytes } from '../limits.ts'
import type { Phase } from '../errors.ts'
import { isObject, listOf, stringOf } from '../json.ts'

export type Stage = Extract<Phase, 'connect' | 'send' | 'wait' | 'stream'>

export type ExchangeFault =
  | 'dns'
  | 'connect'
  | 'tls'
  | 'certificate'
  | 'client_certificate'
  | 'proxy'
  | 'timeout'
  | 'deadline'
  | 'reset'
  | 'protocol'
  | 'limit'
  /** The request's own body could not be produced. */
  | 'source'

export class ExchangeError extends Error {
  override readonly name = 'ExchangeError'
  readonly stage: Stage
  readonly fault: ExchangeFault

  constructor(stage: Stage, fault: ExchangeFault, message: string, cause?: unknown) {
    super(message, { cause })
    this.stage = stage
    this.fault = fault
  }
}

/** The abort reason when the time limit of the whole command (`--timeout`) has passed. */
export class DeadlinePassed extends Error {
  override readonly name = 'DeadlinePassed'
}

interface Cause {
  readonly code: string
  readonly message: string
  readonly port: number | undefined
  readonly hostname: string | undefined
  /** What a parser had not read when it gave up; empty at the end of the connection. */
  readonly unread: string | undefined
}

/** The chain of causes of an error: Happy Eyeballs wraps several errors into one. */
function causes(error: unknown, depth = 0): Cause[] {
  if (!isObject(error) || depth > 8) return []
  const { name, code, message, port, hostname, address, data, cause, errors } = error
  return [
    {
      code: stringOf(code) ?? '',
      message: stringOf(message) ?? '',
      port: typeof port === 'number' ? port : undefined,
      hostname: stringOf(hostname) ?? stringOf(address),
      unread: name === 'HTTPParserError' ? stringOf(data) : undefined,
    },
    ...listOf(errors).flatMap((inner) => causes(inner, depth + 1)),
    ...causes(cause, depth + 1),
  ]
}

const certificateCode =
  /^(CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_CERT_|INVALID_CA|HOSTNAME_MISMATCH)/
/**
 * Alerts by which a server refuses a client with no certificate, or a wrong one. With TLS 1.3 they come when the request may be
 * on its way: the server has not read it.
 */
const clientCertificateAlert =
  /^ERR_SSL_(?:SSLV3|TLSV1|TLSV13|SSL\/TLS)_ALERT_(?:HANDSHAKE_FAILURE|CERTIFICATE_REQUIRED|NO_CERTIFICATE|(?:BAD|UNSUPPORTED)_CERTIFICATE|CERTIFICATE_(?:REVOKED|EXPIRED|UNKNOWN)|UNKNOWN_CA|ACCESS_DENIED)$/

export function isClientCertificateAlert({ code = '' }: NodeJS.ErrnoException | Cause): boolean {
  return clientCertificateAlert.test(code)
}

const resetCodes = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', 'UND_ERR_CLOSED', 'UND_ERR_DESTROYED'])
const unreachableCodes = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'ETIMEDOUT',
  'EADDRNOTAVAIL',
])

/** Classifies a failure by error codes that Node and undici were observed to give, never by message texts alone (fault A1). */
export function classifyFault(stage: Stage, url: URL, error: unknown): ExchangeError {
  const { host } = url
  const chain = causes(error)
  const has = (test: (code: string) => boolean) => chain.find(({ code }) => test(code))
  const fail = (fault: ExchangeFault, message: string) => new ExchangeError(stage, fault, message, error)

  const certificate = has((code) => certificateCode.test(code))
  if (certificate)
    return fail('certificate', `The certificate of ${host} is not trusted (${certificate.code}).`)
  const demand = stage === 'stream' ? undefined : chain.find(isClientCertificateAlert)
  if (demand) {
    const message = `${host} refused the TLS handshake: it may demand a client certificate (${demand.code}).`
    return fail('client_certificate', message)
  }
  const tls = has((code) => code.startsWith('ERR_SSL_') || code === 'EPROTO')
  if (tls) return fail('tls', `${host} does not speak TLS on this port (${tls.code}).`)
  const proxy = stage === 'connect' ? proxyIn(chain, url) : undefined
  if (proxy) return fail('proxy', `The proxy ${addressOf(proxy)} cannot be reached (${proxy.code}).`)
  const dns = has((code) => code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'EAI_FAIL')
  if (dns) return fail('dns', `The host ${host} cannot be found (${dns.code}).`)
  const unreachable = stage === 'connect' && has((code) => unreachableCodes.has(code))
  if (unreachable) return fail('connect', `${host} cannot be reached (${unreachable.code}).`)
  if (has((code) => code === 'UND_ERR_HEADERS_OVERFLOW')) {
    return fail('limit', `The headers of the reply are larger than ${maxHeaderBytes / 1024} KiB.`)
  }
  if (has((code) => code === 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH')) {
    return fail('source', 'The request body changed size while it was sent.')
  }
  if (stage === 'stream' && chain.some(isEarlyEnd)) {
    return fail('reset', `${host} closed the connection in the middle of its reply.`)
  }
  if (has((code) => code.startsWith('HPE_') || code.includes('CONTENT_LENGTH_MISMATCH'))) {
    return fail('protocol', `${host} sent an invalid HTTP response.`)
  }
  if (chain.some(({ message }) => /proxy/i.test(message))) {
    return fail('proxy', `The proxy did not open a connection to ${host}.`)
  }
  if (stage === 'connect') return fail('connect', `The connection to ${host} failed${codeText(chain)}.`)
  if (has((code) => resetCodes.has(code)))
    return fail('reset', `${host} closed the connection${codeText(chain)}.`)
  return fail('protocol', `The reply from ${host} cannot be read${codeText(chain)}.`)
}

/** undici's codes for a connection that ended before its reply, whether with FIN or RST. */
function isEarlyEnd({ code, unread }: Cause): boolean {
  return code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' || unread === ''
}

/** A connection to another address than the requested one was to a proxy. */
function proxyIn(chain: readonly Cause[], url: URL): Cause | undefined {
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80)
  const isProxy = (cause: Cause) =>
    cause.port === undefined
      ? cause.code === 'ENOTFOUND' && cause.hostname !== undefined && cause.hostname !== url.hostname
      : cause.port !== port
  return chain.find(isProxy)
}

function addressOf({ hostname = '', port }: Cause): string {
  const host = hostname.includes(':') ? `[${hostname}]` : hostname
  return port === undefined ? host : `${host}:${port}`
}

function codeText(chain: readonly { code: string }[]): string {
  const code = chain.find((entry) => entry.code !== '')?.code
  return code === undefined ? '' : ` (${code})`
}
