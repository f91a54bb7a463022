import { expect, test } from 'vitest'
import { jobReplyBeginningBytes } from '../../src/files/calls/reply-log.ts'
import { requestJson } from '../../src/gateway/request-json.ts'
import { sse, type Ending } from '../support/server-replies.ts'
import { served, settled, textRequest } from './test-gateway.ts'

/** What comes of a reply with this body. */
async function ask(body: string, ending: Ending = 'whole', recovers = false) {
  const { gateway } = await served([sse([body], { headers: { 'x-request-id': 'r-1' }, ending })])
  const recover = (text: string) => ({ value: text.length, text, isCut: true })
  const options = { convert: (reply: unknown) => reply, ...(recovers ? { recover } : { maxLength: 40 }) }
  return settled(requestJson(gateway, textRequest(gateway, { kind: 'create' }), options))
}

const words = 'x'.repeat(jobReplyBeginningBytes)
const cut = ['cut'] as const
const recovered = ['cut', true] as const

test.each<[string, string, readonly [Ending?, boolean?], object]>([
  ['one value', '{"models": []}', [], { value: { models: [] }, text: '{"models": []}' }],
  ['the first of several values', '{"a":1}\n{"a":2}', [], { value: { a: 1 }, text: '{"a":1}' }],
  ['a beginning that is worth something', '{"name":"a"', recovered, { value: 11, text: '{"name":"a"' }],
  ['so much of a beginning', `{"name":"${words}`, recovered, { value: jobReplyBeginningBytes }],
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
