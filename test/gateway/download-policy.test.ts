import { expect, test } from 'vitest'
import { addressClass, createUrlPolicy, type Network } from '../../src/gateway/download/url-policy.ts'
import { ContractError } from '../../src/errors.ts'

const publicGateway = 'https://gateway.test'
const localGateway = 'http://127.0.0.1:8080'

/** Names of the tests' own world. */
const names: Readonly<Record<string, readonly string[]>> = {
  'gateway.test': ['93.184.216.34'],
  'cdn.test': ['93.184.216.35', '2606:2800:220:1::1'],
  'rebinding.test': ['127.0.0.1'],
  'metadata.test': ['169.254.169.254'],
  'office.test': ['10.1.2.3'],
  'mixed.test': ['192.168.0.1', '93.184.216.36'],
  'mapped.test': ['::ffff:10.0.0.1'],
  'intranet.test': ['10.9.9.9'],
  localhost: ['127.0.0.1', '::1'],
}

const network: Network = {
  async resolve(host) {
    return (names[host] ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  },
  reach: (address) => address,
}

/** `allowed` with the addresses that would be connected to, or why not. */
async function verdict(url: string, gateway: string, allowPrivate = false): Promise<string> {
  const policy = createUrlPolicy({ gateway: { baseUrl: new URL(gateway) }, allowPrivate, network })
  const target = new URL(url)
  try {
    await policy.check(target)
  } catch (error) {
    if (error instanceof ContractError) return `${error.exitCode} ${error.message}`
    throw error
  }
  if (/^[\d.[]/.test(target.hostname)) return `allowed ${target.hostname}`
  return new Promise((resolve) => {
    policy.lookup(target.hostname, { all: true }, (error, found) => {
      resolve(
        error === null
          ? `allowed ${(found as { address: string }[]).map(({ address }) => address).join(' ')}`
          : `8 ${error.message}`,
      )
    })
  })
}

// IPv4 addresses in all their notations: the fuzz target `result-address`.
test.for<[url: string, reason: string, gateway?: string]>([
  // Schemes.
  ['http://cdn.test/a', 'not allowed from an https gateway'],
  ['ftp://cdn.test/a', 'ftp:'],
  ['file:///etc/passwd', 'file:'],
  ['javascript:alert(1)', 'javascript:'],
  ['data:text/plain,x', 'data:'],
  // User names and passwords.
  ['https://user@cdn.test/a', 'user name'],
  ['https://user:pass@cdn.test/a', 'user name'],
  ['https://gateway.test@cdn.test/a', 'user name'],
  // This machine.
  ['https://127.0.0.1/a', '127.0.0.1 is not a public'],
  ['https://0x7f.1/a', '127.0.0.1 is not a public'],
  ['https://１２７.０.０.１/a', '127.0.0.1 is not a public'],
  ['https://0/a', '0.0.0.0 is not a public'],
  ['https://[::1]/a', 'not a public'],
  ['https://[::]/a', 'not a public'],
  ['https://[::127.0.0.1]/a', 'not a public'],
  ['https://localhost/a', 'localhost (127.0.0.1)'],
  ['https://rebinding.test/a', 'rebinding.test (127.0.0.1)'],
  // Private and other networks.
  ['https://169.254.169.254/latest/meta-data', 'not a public'],
  ['https://[64:ff9b:1::1]/a', 'not a public'],
  ['https://[fe80::1]/a', 'not a public'],
  ['https://[fc00::1]/a', 'not a public'],
  ['https://[fd00:ec2::254]/a', 'not a public'],
  ['https://[ff02::1]/a', 'not a public'],
  ['https://[2001:db8::1]/a', 'not a public'],
  ['https://[2001::1]/a', 'not a public'],
  ['https://metadata.test/a', 'metadata.test (169.254.169.254)'],
  ['https://office.test/a', 'office.test (10.1.2.3)'],
  ['https://mapped.test/a', 'mapped.test (::ffff:10.0.0.1)'],
  ['https://nowhere.test/a', 'nowhere.test does not resolve to a public address'],
  // Of a gateway that is not public itself.
  ['http://10.0.0.1/a', 'not a public', localGateway],
  ['http://169.254.169.254/a', 'not a public', localGateway],
  ['http://office.test/a', 'not a public', localGateway],
  ['http://0.0.0.0/a', 'not a public', localGateway],
  ['https://127.0.0.1/a', 'not a public', 'https://10.0.0.5'],
  ['https://169.254.169.254/a', 'not a public', 'https://10.0.0.5'],
  ['https://localhost/a', 'not a public', 'https://intranet.test'],
])('may not be named: %s', async ([url, reason, gateway = publicGateway]) => {
  const answer = await verdict(url, gateway)
  expect(answer).toMatch(/^8 The URL is refused: /)
  expect(answer).toContain(reason)
})

test.for<[string, string, string]>([
  [publicGateway, 'https://cdn.test/a?sig=1', 'allowed 93.184.216.35 2606:2800:220:1::1'],
  [publicGateway, 'https://cdn.test:8443/a', 'allowed 93.184.216.35 2606:2800:220:1::1'],
  [publicGateway, 'https://gateway.test/files/a', 'allowed 93.184.216.34'],
  [publicGateway, 'https://1.1.1.1/a', 'allowed 1.1.1.1'],
  [publicGateway, 'https://[2606:4700::1111]/a', 'allowed [2606:4700::1111]'],
  [publicGateway, 'https://mixed.test/a', 'allowed 93.184.216.36'],
  [localGateway, 'http://127.0.0.1:9999/a', 'allowed 127.0.0.1'],
  [localGateway, 'http://localhost:9999/a', 'allowed 127.0.0.1 ::1'],
  [localGateway, 'http://[::1]/a', 'allowed [::1]'],
  [localGateway, 'http://127.8.8.8/a', 'allowed 127.8.8.8'],
  [localGateway, 'https://cdn.test/a', 'allowed 93.184.216.35 2606:2800:220:1::1'],
  [localGateway, 'http://cdn.test/a', 'allowed 93.184.216.35 2606:2800:220:1::1'],
  ['http://localhost:1234', 'http://127.0.0.1/a', 'allowed 127.0.0.1'],
  ['https://10.0.0.5', 'https://10.9.0.1/a', 'allowed 10.9.0.1'],
  ['https://10.0.0.5', 'https://office.test/a', 'allowed 10.1.2.3'],
  ['https://intranet.test', 'https://office.test/a', 'allowed 10.1.2.3'],
  ['https://intranet.test', 'https://intranet.test/a', 'allowed 10.9.9.9'],
  ['https://intranet.test', 'https://192.168.0.1/a', 'allowed 192.168.0.1'],
])('the gateway %s may name %s', async ([gateway, url, expected]) => {
  expect(await verdict(url, gateway)).toBe(expected)
})

test('what is not public can be allowed on purpose, other schemes cannot', async () => {
  expect(await verdict('https://10.0.0.1/a', publicGateway, true)).toBe('allowed 10.0.0.1')
  expect(await verdict('https://rebinding.test/a', publicGateway, true)).toBe('allowed 127.0.0.1')
  expect(await verdict('http://cdn.test/a', publicGateway, true)).toMatch(/^8/)
  expect(await verdict('file:///etc/passwd', publicGateway, true)).toMatch(/^8/)
  expect(await verdict('https://u:p@cdn.test/a', publicGateway, true)).toMatch(/^8/)
})

test.for(['', 'x', '1.2.3', '127.0.0.1:80', '::g'])('%j is no address', (text) => {
  expect(addressClass(text)).toBe('reserved')
})

test('a zone does not hide an address', () => {
  expect(addressClass('fe80::1%eth0')).toBe('link-local')
})
