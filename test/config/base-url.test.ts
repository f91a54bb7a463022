import { expect, test } from 'vitest'
import { normaliseBaseUrl } from '../../src/config/base-url.ts'
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

const asUsual = 'Write it like https://gateway.example.'
const noProtocol = 'must start with https:// or http://.'

test.each<[string, string, string?]>([
  ['gateway.example', noProtocol],
  ['localhost:8080', noProtocol],
  ['ftp://gateway.example', noProtocol],
  ['file:///etc/passwd', noProtocol],
  ['javascript:alert(1)', noProtocol],
  ['', noProtocol],
  ['https://', 'is not a valid URL.'],
  ['https://gateway.example:99999', 'is not a valid URL.'],
  ['https://exa mple', 'contains white space or control characters.'],
  ['https://gate\tway.example', 'contains white space or control characters.'],
  [
    'https://user:secret-in-url@gateway.example',
    'must not contain a user name or password.',
    'Set the key with MODELGATE_API_KEY.',
  ],
  ['https://gateway.example?key=secret-in-url', 'must not have a query or a fragment.'],
  ['https://gateway.example/#secret-in-url', 'must not have a query or a fragment.'],
  ['https://gateway.example:6000', 'uses port 6000, which belongs to another protocol.', 'Use another port.'],
  ['https://gateway.example:0', 'uses port 0, which belongs to another protocol.', 'Use another port.'],
  [`https://gateway.example/${'/'.repeat(3000)}x`, 'is longer than 2048 characters.'],
  [
    'http://10.0.0.1/v1',
    'would send the key to 10.0.0.1 in clear text.',
    'Use https://, or allow it on purpose with --allow-http.',
  ],
])('%j is refused without repeating it', async (text, problem, hint = asUsual) => {
  expect(await failureOf(() => normaliseBaseUrl(text, 'flag --base-url'))).toBe(
    `2 config_invalid (config)\nThe base URL (flag --base-url) ${problem}\nhint: ${hint}`,
  )
})

test.each(['http://gateway.example', 'http://0.0.0.0', 'http://localhost.example'])(
  '%s would send the key in clear text, unless allowed',
  (text) => {
    expect(() => normaliseBaseUrl(text, 'flag --base-url')).toThrow('clear text')
    expect(normaliseBaseUrl(text, 'flag --base-url', true).protocol).toBe('http:')
  },
)
