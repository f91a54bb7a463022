import { expect, test } from 'vitest'
import { requestJson } from '../../src/gateway/request-json.ts'
import { sse, type Ending } from '../support/server-replies.ts'
import { served, settled, textRequest } from './test-gateway.ts'

/** What comes of a reply with this body. */
async function ask(body: string, ending: Ending = 'whole', recovers = false) {
  const { gateway } = await served([sse([body], { headers: { 'x-request-id': 'r-1' }, ending })])
  const read = (beginning: string) => ({ value: beginning.length, text: beginning, isCut: true })
  const options = {
    convert: (reply: unknown) => reply,
    maxLength: 40,
    recover: recovers ? { maxBytes: 6, read } : undefined,
  }
  return settled(requestJson(gateway, textRequest(gateway, { kind: 'create' }), options))
}

const cut = ['cut'] as const
const recovered = ['cut', true] as const

test.each<[string, string, readonly [Ending?, boolean?], object]>([
  ['one value', '{"models": []}', [], { value: { models: [] }, text: '{"models": []}' }],
  ['the first of several values', '{"a":1}\n{"a":2}', [], { value: { a: 1 }, text: '{"a":1}' }],
  ['a beginning that is worth something', '{"name":"a"', recovered, { value: 6, text: '{"name' }],
  ['a value that came whole before the cut', '{"a":1}', recovered, { value: { a: 1 } }],
])('reads %s', async (_, body, how, expected) => {
  expect(await ask(body, ...how)).toMatchObject({ ...expected, status: 200, requestId: 'r-1' })
})

test.each<[string, string, readonly [Ending?], string]>([
  ['nothing', '  ', [], 'reply_not_understood'],
  ['a page', '<html><title>Busy</title>', [], 'reply_not_understood'],
  ['no JSON', '{"a":}', [], 'reply_not_understood'],
  ['too much', `{"a":"${'x'.repeat(40)}"}`, [], 'reply_too_large'],
  ['what is cut', '{"name":"a"', cut, 'connection_lost'],
])('refuses %s', async (_, body, how, code) => {
  expect(await ask(body, ...how)).toMatchObject({ code })
})
