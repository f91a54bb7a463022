import type { LookupFunction } from 'node:net'
import { makeCertificate, type Certificate } from '../../support/certificate.ts'
import { closedPort, type LocalServer, type LocalServerOptions } from '../../support/local-server.ts'
import { end, head, readHead, reset, stall, write, type ServerReply } from '../../support/server-replies.ts'
import { silence } from '../../support/socket-faults.ts'
import type { Call } from '../calls.ts'
import type { Trouble } from '../perform-call.ts'
import { row, type Expected, type FaultRow, type FaultVariant } from '../row.ts'
import { atLast, brokeOff, everywhere, gaveUp, isFirst, paid, sampled, worksAt } from './expectations.ts'

/** A host of the resolver that the row puts in place; https, since no key goes to it in clear text. */
const host = 'https://gateway.invalid'
const overTls = ({ port }: LocalServer) => `https://127.0.0.1:${port}`

/** Nothing has been sent. */
const unsent = (code: string, says: RegExp, attempts: number): Expected => ({
  exit: 6,
  says,
  error: { code, phase: 'connect', billed: 'no', http_status: null },
  attempts,
})

/** What is wrong with the way to the gateway. */
const onTheWay = (
  name: string,
  expects: FaultVariant['expects'],
  trouble: Partial<Trouble> | (() => Partial<Trouble>),
): FaultVariant => ({
  name,
  where: isFirst,
  trouble: () => (typeof trouble === 'function' ? trouble() : trouble),
  expects,
})

/** It was tried three times. */
const notSent = (says: RegExp): FaultVariant['expects'] => ({
  ...everywhere({ ...unsent('not_sent', says, 0), waits: [375, 750] }),
  poll: { ...gaveUp, attempts: 0 },
  stream: brokeOff,
})

const fails =
  (code: string): LookupFunction =>
  (hostname, _, found) => {
    found(Object.assign(new Error(`getaddrinfo ${code} ${hostname}`), { code, syscall: 'getaddrinfo' }), '')
  }
/** A name with two addresses, of which only the second one leads anywhere. */
const localhost: LookupFunction = (_, options, found) => {
  if (options.all !== true) return found(null, '::1', 6)
  found(null, [
    { address: '::1', family: 6 },
    { address: '127.0.0.1', family: 4 },
  ])
}
const unreachable = (code: 'EHOSTUNREACH' | 'ENETUNREACH'): FaultVariant =>
  onTheWay(code, notSent(new RegExp(`127\\.0\\.0\\.1:\\d+ cannot be reached \\(${code}\\)`)), {
    connectFails: Object.assign(new Error(`connect ${code} 127.0.0.1`), { code, syscall: 'connect' }),
  })

/** Tried three times, by a run four times as often, and a wait for a job goes on. */
const handshake = (name: string, connection: ServerReply, says: RegExp, stepMs?: number): FaultVariant => {
  const expects = { ...everywhere({ ...unsent('not_sent', says, 3), attemptsOfRun: 12 }), poll: gaveUp }
  const trouble = { baseUrl: overTls, connection, ...(stepMs !== undefined && { stepMs }) }
  return onTheWay(name, { ...expects, stream: brokeOff }, trouble)
}

/** Nothing that another attempt could change. */
const final = (code: string, says: RegExp) => everywhere(unsent(code, says, 1))
const finalOnce = (code: string, says: RegExp) => ({ ...final(code, says), ...atLast })

/** Certificates take a while to make: each is made once, by the first test that needs it. */
const once = <Value>(make: () => Value) => {
  let made: Value | undefined
  return () => (made ??= make())
}
const selfSigned = once(() => makeCertificate())
const expired = once(() => makeCertificate(undefined, { isExpired: true }))
const ofAnotherHost = once(() => makeCertificate('DNS:other.test'))
const ofAnAuthority = once(() => makeCertificate(undefined, { isOfAuthority: true }))

const behindTls = (tls: LocalServerOptions['tls'], ca?: string): Partial<Trouble> => ({
  tls,
  connection: [stall],
  ...(ca !== undefined && { files: { 'ca.pem': ca }, more: ['--ca-file', 'ca.pem'] }),
})

/** @param isTrusted whether it is its own authority */
const certificate = (
  name: string,
  make: () => Certificate,
  code: string,
  isTrusted = false,
): FaultVariant => ({
  ...onTheWay(
    `${name} (needs openssl)`,
    final('not_sent_certificate', new RegExp(`is not trusted \\(${code}\\)`)),
    () => behindTls({ ...make() }, isTrusted ? make().cert : undefined),
  ),
  needsOpenssl: true,
})

/** A host that is asked for through the proxy; what is on this machine is reached without one. */
const throughProxy = (name: string, connection: ServerReply): FaultVariant =>
  onTheWay(name, finalOnce('not_sent_proxy', /The proxy did not open a connection to gateway\.invalid/), {
    baseUrl: () => host,
    connection,
    env: ({ port }) => ({ HTTPS_PROXY: `http://user:secret-word@127.0.0.1:${port}` }),
  })
const refusal = (status: number): ServerReply => [
  readHead,
  write(head(status, { 'content-length': '0' })),
  end,
]

/** Nobody is asked. */
const unasked = (exit: number, says: RegExp, error: Expected['error'] = {}): Expected => ({
  exit,
  says,
  error: { billed: 'no', http_status: null, ...error },
  attempts: 0,
})

const setting = (
  name: string,
  env: Readonly<Record<string, string | undefined>>,
  expected: Expected,
): FaultVariant => ({
  name,
  // A report tells of settings in its own words.
  where: (call, exchange) => isFirst(call, exchange) && exchange.role !== 'report' && call.how === 'program',
  trouble: () => ({ env }),
  expects: everywhere(expected),
})
const address = (name: string, url: string, says: RegExp): FaultVariant =>
  setting(name, { MODELGATE_BASE_URL: url }, unasked(2, says, { phase: 'config' }))
const key = (name: string, text: string, says: RegExp): FaultVariant =>
  setting(name, { MODELGATE_API_KEY: text }, unasked(2, says, { phase: 'config' }))
const ofKey = /The API key \(.*MODELGATE_API_KEY\) /

const takesFile = ({ name }: Call): boolean => ['generate', 'respond', 'image edit'].includes(name)
/** An attachment, or the picture that is to be edited. */
const file = (
  name: string,
  expected: Expected,
  files: Readonly<Record<string, string | Uint8Array>> = {},
  path = 'other.png',
): FaultVariant => ({
  name,
  where: takesFile,
  trouble: (_, { argv }) => ({ files, more: argv[0] === 'image' ? ['--image', path] : ['-a', path] }),
  expects: paid(expected),
})

/** A: the way to the gateway, TLS and proxies, and what is found before a connection is opened. */
export const connecting: readonly FaultRow[] = [
  row('A1', 'the host name does not exist', 'tried again, then the host is named', [
    onTheWay('ENOTFOUND', notSent(/The host gateway\.invalid cannot be found/), {
      baseUrl: () => host,
      lookup: fails('ENOTFOUND'),
    }),
  ]),
  row('A2', 'the name server fails for a moment', 'tried again, then the host is named', [
    onTheWay('EAI_AGAIN', notSent(/gateway\.invalid cannot be found \(EAI_AGAIN\)/), {
      baseUrl: () => host,
      lookup: fails('EAI_AGAIN'),
    }),
  ]),
  row('A3', 'the name server never answers', 'the connect limit of 10 s ends each attempt', [
    onTheWay('no answer', notSent(/gateway\.invalid.* within 10 s/), {
      baseUrl: () => host,
      lookup: () => {},
      stepMs: 10_000,
    }),
  ]),
  row('A4', 'nobody listens on the port', 'tried again, then the address is named', [
    onTheWay('refused', notSent(/127\.0\.0\.1:\d+ cannot be reached \(ECONNREFUSED\)/), {
      baseUrl: async () => `http://127.0.0.1:${await closedPort()}`,
    }),
    ...sampled(
      onTheWay('refused at each address of the name', notSent(/localhost:\d+ cannot be reached \(E\w+\)/), {
        baseUrl: async () => `http://localhost:${await closedPort()}`,
        lookup: localhost,
      }),
    ),
  ]),
  row('A5', 'no route to the host', 'tried again, then the address is named', [
    unreachable('EHOSTUNREACH'),
    ...sampled(unreachable('ENETUNREACH')),
  ]),
  row('A6', 'packets to the host vanish', 'the connect limit of 10 s ends each attempt', [
    onTheWay('no answer', notSent(/127\.0\.0\.1:\d+.* within 10 s/), {
      connectFails: silence,
      stepMs: 10_000,
    }),
  ]),
  row('A7', 'IPv6 does not work, IPv4 does', 'the other address is used', [
    onTheWay('nobody at the first address', everywhere(worksAt(1)), {
      baseUrl: ({ port }) => `http://localhost:${port}`,
      lookup: localhost,
    }),
  ]),
  row('A8', 'the connection is closed in the TLS handshake', 'tried again', [
    handshake('FIN', [end], /The connection to 127\.0\.0\.1:\d+ failed/),
  ]),
  row('A9', 'the connection is reset in the TLS handshake', 'tried again', [
    handshake('RST', [reset], /The connection to 127\.0\.0\.1:\d+ failed/),
  ]),
  row('A10', 'the TLS handshake never ends', 'the connect limit of 10 s ends each attempt', [
    handshake('silence', [stall], / within 10 s/, 10_000),
  ]),
  row('A11', 'https to a port that speaks no TLS', 'said at once, with a hint at http://', [
    onTheWay('plain HTTP', finalOnce('not_sent_tls', /does not speak TLS on this port/), {
      baseUrl: overTls,
      connection: [write('HTTP/1.1 400 Bad Request\r\n\r\n'), end],
    }),
  ]),
  row(
    'A12',
    'a certificate signed by itself',
    'refused at once, with a hint at --ca-file; no setting turns this off',
    [
      certificate('self-signed', selfSigned, 'DEPTH_ZERO_SELF_SIGNED_CERT'),
      ...sampled({
        ...certificate('checks turned off by the environment', selfSigned, 'DEPTH_ZERO_SELF_SIGNED_CERT'),
        trouble: () => ({ ...behindTls({ ...selfSigned() }), env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' } }),
      }),
    ],
  ),
  row(
    'A13',
    'a certificate that has expired, is of another host, or of an unknown authority',
    'refused at once',
    sampled(
      certificate('expired', expired, 'CERT_HAS_EXPIRED', true),
      certificate('another host', ofAnotherHost, 'ERR_TLS_CERT_ALTNAME_INVALID', true),
      certificate('an unknown authority', ofAnAuthority, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'),
    ),
  ),
  row(
    'A14',
    'the server demands a client certificate',
    'said at once',
    sampled({
      ...certificate('none is there', selfSigned, ''),
      trouble: () => behindTls({ ...selfSigned(), requestCert: true }, selfSigned().cert),
      expects: everywhere({
        exit: 6,
        says: /may demand a client certificate/,
        error: { code: 'not_sent_certificate', http_status: null },
      }),
    }),
  ),
  row(
    'A15',
    'a proxy that is not there, refuses, or finds no way',
    'the proxy is named, without its password',
    [
      throughProxy('HTTP 407', refusal(407)),
      ...sampled(
        throughProxy('HTTP 502', refusal(502)),
        onTheWay(
          'nobody listens',
          {
            ...everywhere(unsent('not_sent_proxy', /The proxy 127\.0\.0\.1:1 cannot be reached/, 0)),
            poll: { ...gaveUp, attempts: 0 },
            stream: brokeOff,
          },
          { baseUrl: () => host, env: { HTTPS_PROXY: 'http://user:secret-word@127.0.0.1:1' } },
        ),
      ),
    ],
  ),
  row(
    'A16',
    'a base URL that is none, or has the port of another protocol',
    'said at once; nothing is sent',
    [
      address('the port of X11', 'http://127.0.0.1:6000', /uses port 6000/),
      ...sampled(
        address(
          'a line break in it',
          'http://127.0.0.1:8080\n/v1',
          /MODELGATE_BASE_URL contains a line break/,
        ),
      ),
    ],
  ),
  row(
    'A17',
    'http:// to another machine',
    'refused, unless --allow-http allows to send the key in clear text',
    [
      address(
        'another host',
        'http://gateway.invalid',
        /would send the key to gateway\.invalid in clear text/,
      ),
    ],
  ),
  row(
    'A18',
    'a key with a line break, other than ASCII, or nothing in it',
    'refused; the message does not show it',
    [
      key('a line break', 'some\nkey', ofKey),
      ...sampled(
        key('CR and LF', 'some\r\nx-evil: 1', ofKey),
        key('letters beyond ASCII', 'schlüssel', ofKey),
        key('only white space', '  ', /The API key \(.*\) contains white space/),
        setting(
          'nothing',
          { MODELGATE_API_KEY: '' },
          unasked(3, /No API key is set|The API key \(.*\) is empty/),
        ),
      ),
    ],
  ),
  row('A19', 'no key', 'said before any host is looked up', [
    setting(
      'none',
      { MODELGATE_API_KEY: undefined },
      unasked(3, /No API key is set\./, { code: 'key_missing', phase: 'config' }),
    ),
  ]),
  row(
    'A20',
    'an input file that is missing, empty, too large, a folder, or of another kind',
    'said before connecting',
    [
      file('missing', unasked(10, /"other\.png" cannot be read: it does not exist/)),
      file('a folder', unasked(10, /"folder" .*(folder|directory)/), { 'folder/x': '' }, 'folder'),
      file('empty', unasked(2, /"other\.png".* (is empty|no image|not an image|0 bytes)/), {
        'other.png': '',
      }),
      {
        ...file('not a picture', unasked(2, /"other\.png"/), { 'other.png': Buffer.from([1, 2, 3, 0]) }),
        where: ({ name }) => name === 'image edit',
      },
    ],
  ),
  row('A21', 'a file changes its size while it is uploaded', 'aborted, not repeated'),
  row(
    'A22',
    'no more files can be opened (EMFILE)',
    'said like any file that cannot be read; files are opened one at a time',
  ),
]
