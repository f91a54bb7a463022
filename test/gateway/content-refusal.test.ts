import { expect, test } from 'vitest'
import { refusalHint } from '../../src/gateway/gateway-errors.ts'

test.each([
  'blocklist',
  'content_blocked',
  'content_filter',
  'content_filtered',
  'content_moderation',
  'content_policy',
  'content_policy_violation',
  'data_inspection_failed',
  'DataInspectionFailed',
  'image_content_policy_violation',
  'IMAGE_PROHIBITED_CONTENT',
  'IMAGE_SAFETY',
  'jailbreak',
  'MODEL_ARMOR',
  'moderation_blocked',
  'policy_violation',
  'PROHIBITED_CONTENT',
  'prompt_blocked',
  'ResponsibleAIPolicyViolation',
  'SAFETY',
  'sensitive_words_detected',
  'SPII',
])('the code %s refuses the content', (word) => {
  expect(refusalHint({ words: ['400', word] })).toMatch(/^Change the prompt/)
})

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
  expect(refusalHint({ words: [] })).toBeUndefined()
  expect(refusalHint({ words: ['safety_identifier', '', '400'] })).toBeUndefined()
})
