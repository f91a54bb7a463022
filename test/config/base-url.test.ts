import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { normaliseBaseUrl } from '../../src/config/base-url.ts'
import { endpointUrl } from '../../src/gateway/url.ts'
import { failureOf } from '../support/config-place.ts'

test.each([
  ['https://gateway.example/', 'https://gateway.example/'],
  ['https://gateway.example/v1beta//', 'https://gateway.example/'],
  ['https://gateway.example/v1/v1beta', 'https://gateway.example/'],
  ['  https://gateway.example:8443/proxy/v1\n', 'https://gateway.example:8443/proxy'],
  ['https://gateway.example/v1/proxy/', 'https://gateway.example/v1/proxy'],
  ['https://gateway.example/v10', 'https://gateway.example/v10'],
  ['https://gateway.example/xv1', 'https://gateway.example/xv1'],
  ['HTTPS://Gateway.Example:443', 'https://gateway.example/'],
  ['http://localhost:8080/v1', 'http://localhost:8080/'],
  ['http://127.1:8080', 'http://127.0.0.1:8080/'],
  ['http://[::1]:8080', 'http://[::1]:8080/'],
])('%s is %s', (text, expected) => {
  expect(normaliseBaseUrl(text, 'flag --base-url').href).toBe(expected)
})

test.each([
  ['gateway.example'],
  ['localhost:8080'],
  ['ftp://gateway.example'],
  ['file:///etc/passwd'],
  ['javascript:alert(1)'],
  ['https://'],
  ['https://exa mple'],
  ['https://gate\tway.example'],
  ['https://user:secret-in-url@gateway.example'],
  ['https://gateway.example?key=secret-in-url'],
  ['https://gateway.example/#secret-in-url'],
  ['https://gateway.example:6000'],
  ['https://gateway.example:0'],
  ['https://gateway.example:99999'],
  [''],
  [`https://gateway.example/${'/'.repeat(3000)}x`],
])('%j is refused without repeating it', async (text) => {
  const failure = await failureOf(() => normaliseBaseUrl(text, 'environment MODELGATE_BASE_URL'))
  expect(failure).toMatch(/^2 config_invalid \(config\)\nThe base URL \(environment MODELGATE_BASE_URL\) /)
  expect(failure).not.toContain('secret-in-url')
})

test('the messages say what is wrong and what to do', async () => {
  const failures = []
  for (const text of [
    'gateway.example',
    'https://u:p@gateway.example',
    'https://gateway.example:6000',
    'http://10.0.0.1/v1',
  ]) {
    failures.push(await failureOf(() => normaliseBaseUrl(text, 'flag --base-url')))
  }
  expect(failures).toMatchInlineSnapshot(`
    [
      "2 config_invalid (config)
    The base URL (flag --base-url) must start with https:// or http://.
    hint: Write it like https://gateway.example.",
      "2 config_invalid (config)
    The base URL (flag --base-url) must not contain a user name or password.
    hint: Set the key with MODELGATE_API_KEY.",
      "2 config_invalid (config)
    The base URL (flag --base-url) uses port 6000, which belongs to another protocol.
    hint: Use another port.",
      "2 config_invalid (config)
    The base URL (flag --base-url) would send the key to 10.0.0.1 in clear text.
    hint: Use https://, or allow it on purpose with --allow-http.",
    ]
  `)
})

test.each(['http://gateway.example', 'http://10.0.0.1', 'http://0.0.0.0', 'http://localhost.example'])(
  '%s would send the key in clear text, unless allowed',
  (text) => {
    expect(() => normaliseBaseUrl(text, 'flag --base-url')).toThrow('clear text')
    expect(normaliseBaseUrl(text, 'flag --base-url', true).protocol).toBe('http:')
  },
)

test('any address that is accepted leads to its own host, whatever its ending', () => {
  const segment = fc.stringMatching(/^[a-z0-9_-]{1,8}$/).filter((text) => text !== 'v1' && text !== 'v1beta')
  fc.assert(
    fc.property(
      fc.domain(),
      fc.array(segment, { maxLength: 3 }),
      fc.constantFrom('', '/', '/v1', '/v1/', '/v1beta', '/v1beta/', '//'),
      (host, prefix, ending) => {
        const path = prefix.map((part) => `/${part}`).join('')
        const base = normaliseBaseUrl(`https://${host}${path}${ending}`, 'flag --base-url')
        expect(endpointUrl({ baseUrl: base }, '/v1/responses').href).toBe(
          `https://${host}${path}/v1/responses`,
        )
      },
    ),
  )
})
