import { expect, test } from 'vitest'
import type { ModelgateError } from '../../src/errors.ts'
import { requestJson } from '../../src/gateway/request-json.ts'
import { localServer } from '../support/local-server.ts'
import { sse, type Ending } from '../support/server-replies.ts'
import { testGateway, textRequest } from './test-gateway.ts'

/** Asks a server that answers with this body: the value of the reply, or the code of the error. */
async function ask(body: string, ending: Ending = 'whole', recover = false): Promise<unknown> {
  const server = await localServer([sse([body], { headers: { 'x-request-id': 'r-1' }, ending })])
  const gateway = testGateway(server.url)
  const read = (beginning: string) => ({ value: beginning.length, text: beginning, isCut: true })
  return requestJson(gateway, textRequest(gateway, { kind: 'create' }), {
    convert: (reply) => reply,
    maxLength: 40,
    recover: recover ? { maxBytes: 6, read } : undefined,
  }).then(
    ({ value, text, status, requestId }) => ({ value, text, status, requestId }),
    (error: unknown) => (error as ModelgateError).code,
  )
}

test.each<[string, string, unknown]>([
  ['one value', '{"models": []}', { models: [] }],
  ['the first of several', '{"a":1}\n{"a":2}', { a: 1 }],
])('reads %s', async (_, body, value) => {
  const text = body.split('\n')[0]!
  expect(await ask(body)).toEqual({ value, text, status: 200, requestId: 'r-1' })
})

test.each<[string, string, string]>([
  ['nothing', '  ', 'reply_not_understood'],
  ['a page', '<html><title>Busy</title>', 'reply_not_understood'],
  ['no JSON', '{"a":}', 'reply_not_understood'],
  ['too much', `{"a":"${'x'.repeat(40)}"}`, 'reply_too_large'],
])('refuses %s', async (_, body, code) => {
  expect(await ask(body)).toBe(code)
})

test('a reply that is cut is an error, unless its beginning is worth something', async () => {
  expect(await ask('{"name":"a"', 'cut')).toBe('connection_lost')
  expect(await ask('{"name":"a"', 'cut', true)).toMatchObject({ value: 6, text: '{"name' })
})

test('a value that has come whole before the cut counts', async () => {
  expect(await ask('{"a":1}', 'cut', true)).toMatchObject({ value: { a: 1 } })
})
