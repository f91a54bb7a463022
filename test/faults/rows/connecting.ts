import type { LookupFunction } from 'node:net'
import { closedPort, type LocalServer } from '../../support/local-server.ts'
import { brokeOff, everywhere, gaveUp, isFirst, worksAt } from './expectations.ts'
import { silence } from '../../support/socket-faults.ts'
import { row, type Expected, type FaultRow, type FaultVariant } from '../row.ts'

/** A host of the resolver that the row puts in place; https, since no key goes to it in clear text. */
const host = 'https://gateway.invalid'

const fails =
  (code: string): LookupFunction =>
  (hostname, _, found) => {
    found(Object.assign(new Error(`getaddrinfo ${code} ${hostname}`), { code, syscall: 'getaddrinfo' }), '')
  }
const finds =
  (...addresses: readonly { readonly address: string; readonly family: number }[]): LookupFunction =>
  (_, options, found) => {
    if (options.all === true) found(null, [...addresses])
    else found(null, addresses[0]!.address, addresses[0]!.family)
  }

/** Nothing has been sent, and it was tried three times. */
const notSent = (code: string, says: RegExp): FaultVariant['expects'] => {
  const expected: Expected = {
    exit: 6,
    says,
    error: { code, phase: 'connect', billed: 'no', http_status: null },
    attempts: 0,
    waits: [375, 750],
    leaves: 'nothing',
  }
  return { ...everywhere(expected), poll: { ...gaveUp, attempts: 0 }, stream: brokeOff }
}

const unresolved = (name: string, lookup: LookupFunction, says: RegExp): FaultVariant => ({
  name,
  where: isFirst,
  trouble: () => ({ baseUrl: () => host, lookup }),
  expects: notSent('not_sent', says),
})

const unreachable = (code: 'EHOSTUNREACH' | 'ENETUNREACH'): FaultVariant => ({
  name: code,
  where: isFirst,
  trouble: () => ({
    connectFails: Object.assign(new Error(`connect ${code} 127.0.0.1`), { code, syscall: 'connect' }),
  }),
  expects: notSent('not_sent', new RegExp(`127\\.0\\.0\\.1:\\d+ cannot be reached \\(${code}\\)`)),
})

/** A1 to A7: the way to the gateway. */
export const connecting: readonly FaultRow[] = [
  row('A1', 'the host name does not exist', 'tried again, then the host is named', [
    unresolved('ENOTFOUND', fails('ENOTFOUND'), /The host gateway\.invalid cannot be found/),
  ]),
  row('A2', 'the name server fails for a moment', 'tried again, then the host is named', [
    unresolved('EAI_AGAIN', fails('EAI_AGAIN'), /gateway\.invalid cannot be found \(EAI_AGAIN\)/),
  ]),
  row('A3', 'the name server never answers', 'the connect limit of 10 s ends each attempt', [
    {
      name: 'no answer',
      where: isFirst,
      trouble: () => ({ baseUrl: () => host, lookup: () => {}, stepMs: 10_000 }),
      expects: notSent('not_sent', /gateway\.invalid.* within 10 s/),
    },
  ]),
  row('A4', 'nobody listens on the port', 'tried again, then the address is named', [
    {
      name: 'refused',
      where: isFirst,
      trouble: () => ({ baseUrl: async () => `http://127.0.0.1:${await closedPort()}` }),
      expects: notSent('not_sent', /127\.0\.0\.1:\d+ cannot be reached \(ECONNREFUSED\)/),
    },
    {
      name: 'refused at each address of the name',
      where: isFirst,
      isSampled: true,
      trouble: () => ({
        baseUrl: async () => `http://localhost:${await closedPort()}`,
        lookup: finds({ address: '::1', family: 6 }, { address: '127.0.0.1', family: 4 }),
      }),
      expects: notSent('not_sent', /localhost:\d+ cannot be reached \(E\w+\)/),
    },
  ]),
  row('A5', 'no route to the host', 'tried again, then the address is named', [
    unreachable('EHOSTUNREACH'),
    unreachable('ENETUNREACH'),
  ]),
  row('A6', 'packets to the host vanish', 'the connect limit of 10 s ends each attempt', [
    {
      name: 'no answer',
      where: isFirst,
      trouble: () => ({ connectFails: silence, stepMs: 10_000 }),
      expects: notSent('not_sent', /127\.0\.0\.1:\d+.* within 10 s/),
    },
  ]),
  row('A7', 'IPv6 does not work, IPv4 does', 'the other address is used', [
    {
      name: 'nobody at the first address',
      where: isFirst,
      trouble: () => ({
        baseUrl: ({ port }: LocalServer) => `http://localhost:${port}`,
        lookup: finds({ address: '::1', family: 6 }, { address: '127.0.0.1', family: 4 }),
      }),
      expects: { ...everywhere(worksAt(1)) },
    },
  ]),
]
