import { expect, test } from 'vitest'
import { refusalHint } from '../../src/gateway/gateway-errors.ts'

test.each([
  'It was rejected by our safety system.',
  'Stopped for safety reasons.',
  'This violates our content policy.',
  'See our content management policy.',
  'Against the content filtering policies.',
  'The content safety policy forbids it.',
  'This breaks our usage guidelines.',
  'See the usage policy.',
  'See the usage policies.',
  'Filtered by Responsible AI.',
  'It has prohibited content.',
  'See the prohibited use policy.',
  'Blocked by our moderation.',
  'The image was rejected by the upstream safety check.',
  'refused by a content filter',
  'It has a sensitive word in it.',
  'Sensitive words found.',
  'Your prompt was flagged as unsafe.',
  'Flagged by our checks.',
  'Flagged for review.',
])('the message %j refuses the content', (message) => {
  expect(refusalHint({ message, words: [] })).toMatch(/^Change the prompt/)
})

test.each([
  'Invalid value: safety_identifier.',
  'unsafety reasons',
  'The content is not a policy.',
  'The usage is over.',
  'This was blocked by your network. Ask about safety.',
  'insensitive words',
  'sensitive wordsmith',
  'The flag was set.',
])('the message %j refuses the request', (message) => {
  expect(refusalHint({ message, words: ['invalid_request_error'] })).toBeUndefined()
})

test('an error that says nothing refuses no content', () => {
  expect(refusalHint({ message: undefined, words: [] })).toBeUndefined()
  expect(refusalHint({ message: undefined, words: ['safety_identifier', '', '400'] })).toBeUndefined()
})
