import { expect, test } from 'vitest'
import { hideHeader, sendRequest } from '../../src/gateway/send-request.ts'
import { localServer } from '../support/local-server.ts'
import { json } from '../support/server-replies.ts'
import { testGateway, textRequest } from './test-gateway.ts'

const secret = 's3cret-0123456789'

test.each([
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'x-litellm-key',
  'cookie',
  'set-cookie',
  'x-auth-token',
  'x-amz-security-token',
  'x-client-secret',
  'x-amz-signature',
])('a trace hides the value of %s, in a request and in a reply', async (name) => {
  expect(hideHeader(name, secret)).toBe('<hidden>')
  const server = await localServer([json({}, { headers: { [name]: secret } })])
  const gateway = testGateway(server.url)
  const { close } = await sendRequest(gateway, textRequest(gateway))
  close()
  expect(gateway.traced.join('\n')).toContain(`< ${name}: <hidden>`)
  expect(gateway.traced.join('\n')).not.toContain(secret)
})

test.each([
  ['content-type', 'text/plain'],
  ['idempotency-key', 'mg-1'],
  ['x-request-id', 'req-1'],
])('a trace shows %s', (name, value) => {
  expect(hideHeader(name, value)).toBe(value)
})

test('the scheme of an authorization is shown', () => {
  expect(hideHeader('authorization', `Bearer ${secret}`)).toBe('Bearer <hidden>')
})
