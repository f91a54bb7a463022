import { expect, test } from 'vitest'
import { promptOf, withPrompt } from '../../src/operations/request-prompt.ts'

test.each<[string, object, object]>([
  ['an image', { prompt: 'old', n: 2 }, { prompt: 'new', n: 2 }],
  ['a video', { instances: [{ prompt: 'old', image: {} }] }, { instances: [{ prompt: 'new', image: {} }] }],
  ['an input text', { input: 'old', stream: true }, { input: 'new', stream: true }],
  [
    'the last message of the user',
    {
      contents: [
        { role: 'user', parts: [{ text: 'first' }] },
        { role: 'model', parts: [{ text: 'answer' }] },
        { parts: [{ inlineData: {} }, { text: 'old' }] },
      ],
    },
    {
      contents: [
        { role: 'user', parts: [{ text: 'first' }] },
        { role: 'model', parts: [{ text: 'answer' }] },
        { parts: [{ inlineData: {} }, { text: 'new' }] },
      ],
    },
  ],
  [
    'a message before the answer that the model begins',
    { contents: [{ parts: [{ text: 'old' }] }, { role: 'model', parts: [{ text: 'Once' }] }] },
    { contents: [{ parts: [{ text: 'new' }] }, { role: 'model', parts: [{ text: 'Once' }] }] },
  ],
  [
    'an item of the input',
    { input: [{ role: 'assistant', content: 'a' }, { role: 'user', content: 'old' }, { type: 'other' }] },
    { input: [{ role: 'assistant', content: 'a' }, { role: 'user', content: 'new' }, { type: 'other' }] },
  ],
  [
    'a part of an item',
    { input: [{ role: 'user', content: [{ type: 'input_image' }, { type: 'input_text', text: 'old' }] }] },
    { input: [{ role: 'user', content: [{ type: 'input_image' }, { type: 'input_text', text: 'new' }] }] },
  ],
])('the prompt of %s', (_, body, changed) => {
  const before = structuredClone(body)
  expect(promptOf(body as never)).toBe('old')
  expect(withPrompt(body as never, 'new')).toEqual(changed)
  expect(body).toEqual(before)
})

test.each<[string, object, string | undefined]>([
  ['no text', { contents: [{ parts: [{ inlineData: {} }] }] }, undefined],
  ['nothing at all', {}, undefined],
  ['no list', { input: 7 }, undefined],
  ['several texts', { contents: [{ parts: [{ text: 'a' }, { text: 'b' }] }] }, 'a\nb'],
  ['several videos', { instances: [{ prompt: 'a' }, {}, { prompt: 'b' }] }, 'a\nb'],
])('a body with %s has no place for another prompt', (_, body, prompt) => {
  expect(promptOf(body as never)).toBe(prompt)
  expect(() => withPrompt(body as never, 'new')).toThrow(/^The last message of the request has /)
})
