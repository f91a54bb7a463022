import type { LocalServer, LocalServerOptions } from '../../support/local-server.ts'
import { makeCertificate, type Certificate } from '../../support/certificate.ts'
import { end, head, readHead, reset, stall, write, type ServerReply } from '../../support/server-replies.ts'
import type { Trouble } from '../perform-call.ts'
import { row, type Expected, type FaultRow, type FaultVariant } from '../row.ts'
import { brokeOff, everywhere, gaveUp, isFirst } from './expectations.ts'

const overTls = ({ port }: LocalServer) => `https://127.0.0.1:${port}`

const notSent = (code: string, says: RegExp, attempts: number): Expected => ({
  exit: 6,
  says,
  error: { code, phase: 'connect', billed: 'no', http_status: null },
  attempts,
  leaves: 'nothing',
})

/** Tried three times, by a run four times as often, and a wait for a job goes on. */
const passing = (code: string, says: RegExp): FaultVariant['expects'] => ({
  ...everywhere({ ...notSent(code, says, 3), attemptsOfRun: 12 }),
  poll: gaveUp,
  stream: brokeOff,
})

const handshake = (name: string, connection: ServerReply, stepMs?: number): FaultVariant => ({
  name,
  where: isFirst,
  trouble: () => ({ baseUrl: overTls, connection, ...(stepMs === undefined ? {} : { stepMs }) }),
  expects:
    stepMs === undefined
      ? passing('not_sent', /The connection to 127\.0\.0\.1:\d+ failed/)
      : passing('not_sent', / within 10 s/),
})

/** Nothing that another attempt could change. */
const final = (code: string, says: RegExp) => everywhere(notSent(code, says, 1))

/** Certificates take a while to make: each is made once, by the first test that needs it. */
const once = <Value>(make: () => Value) => {
  let made: Value | undefined
  return () => (made ??= make())
}
const selfSigned = once(() => makeCertificate())
const expired = once(() => makeCertificate(undefined, { isExpired: true }))
const ofAnotherHost = once(() => makeCertificate('DNS:other.test'))
const ofAnAuthority = once(() => makeCertificate(undefined, { isOfAuthority: true }))

const certificate = (
  name: string,
  make: () => Certificate,
  { code, isTrusted }: { readonly code: string; readonly isTrusted: boolean },
  isSampled = true,
): FaultVariant => ({
  name: `${name} (needs openssl)`,
  where: isFirst,
  needsOpenssl: true,
  ...(isSampled && { isSampled }),
  trouble: () => behindTls({ ...make() }, isTrusted ? make().cert : undefined),
  expects: final('not_sent_certificate', new RegExp(`is not trusted \\(${code}\\)`)),
})

const behindTls = (tls: LocalServerOptions['tls'], ca: string | undefined): Partial<Trouble> => ({
  tls,
  connection: [stall],
  ...(ca === undefined ? {} : { files: { 'ca.pem': ca }, more: ['--ca-file', 'ca.pem'] }),
})

/** A host that is asked for through the proxy; what is on this machine is reached without one. */
const throughProxy = (
  name: string,
  connection: ServerReply,
  says: RegExp,
  isSampled = true,
): FaultVariant => ({
  name,
  where: isFirst,
  ...(isSampled && { isSampled }),
  trouble: () => ({
    baseUrl: () => 'https://gateway.invalid',
    connection,
    env: ({ port }) => ({ HTTPS_PROXY: `http://user:secret-word@127.0.0.1:${port}` }),
  }),
  expects: { ...final('not_sent_proxy', says), poll: gaveUp, stream: brokeOff },
})

const noTunnel = /The proxy did not open a connection to gateway\.invalid/

/** A8 to A15: TLS, and proxies. */
export const tlsAndProxies: readonly FaultRow[] = [
  row('A8', 'the connection is closed in the TLS handshake', 'tried again', [handshake('FIN', [end])]),
  row('A9', 'the connection is reset in the TLS handshake', 'tried again', [handshake('RST', [reset])]),
  row('A10', 'the TLS handshake never ends', 'the connect limit of 10 s ends each attempt', [
    handshake('silence', [stall], 10_000),
  ]),
  row('A11', 'https to a port that speaks no TLS', 'said at once, with a hint at http://', [
    {
      name: 'plain HTTP',
      where: isFirst,
      trouble: () => ({
        baseUrl: overTls,
        connection: [write('HTTP/1.1 400 Bad Request\r\n\r\n'), end],
      }),
      expects: {
        ...final('not_sent_tls', /does not speak TLS on this port/),
        poll: gaveUp,
        stream: brokeOff,
      },
    },
  ]),
  row(
    'A12',
    'a certificate signed by itself',
    'refused at once, with a hint at --ca-file; no setting turns this off',
    [
      certificate(
        'self-signed',
        selfSigned,
        { code: 'DEPTH_ZERO_SELF_SIGNED_CERT', isTrusted: false },
        false,
      ),
      {
        ...certificate('checks turned off by the environment', selfSigned, {
          code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
          isTrusted: false,
        }),
        trouble: () => ({
          ...behindTls({ ...selfSigned() }, undefined),
          env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' },
        }),
      },
    ],
  ),
  row(
    'A13',
    'a certificate that has expired, is of another host, or of an unknown authority',
    'refused at once',
    [
      certificate('expired', expired, { code: 'CERT_HAS_EXPIRED', isTrusted: true }),
      certificate('another host', ofAnotherHost, { code: 'ERR_TLS_CERT_ALTNAME_INVALID', isTrusted: true }),
      certificate('an unknown authority', ofAnAuthority, {
        code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
        isTrusted: false,
      }),
    ],
  ),
  row('A14', 'the server demands a client certificate', 'said at once', [
    {
      ...certificate('none is there', selfSigned, { code: '', isTrusted: true }),
      trouble: () => behindTls({ ...selfSigned(), requestCert: true }, selfSigned().cert),
      expects: everywhere({
        exit: 6,
        says: /may demand a client certificate/,
        error: { code: 'not_sent_certificate', http_status: null },
        leaves: 'nothing',
      }),
    },
  ]),
  row(
    'A15',
    'a proxy that is not there, refuses, or finds no way',
    'the proxy is named, without its password',
    [
      throughProxy('HTTP 407', [readHead, write(head(407, { 'content-length': '0' })), end], noTunnel, false),
      throughProxy('HTTP 502', [readHead, write(head(502, { 'content-length': '0' })), end], noTunnel),
      {
        ...throughProxy('nobody listens', [end], noTunnel),
        trouble: () => ({
          baseUrl: () => 'https://gateway.invalid',
          env: { HTTPS_PROXY: 'http://user:secret-word@127.0.0.1:1' },
        }),
        expects: {
          ...everywhere(notSent('not_sent_proxy', /The proxy 127\.0\.0\.1:1 cannot be reached/, 0)),
          poll: { ...gaveUp, attempts: 0 },
          stream: brokeOff,
        },
      },
    ],
  ),
]
