import { expect, test } from 'vitest'
import { promptOf } from '../../src/operations/operation.ts'

test.each<[string, object, string | undefined]>([
  ['an image', { prompt: 'a', n: 2 }, 'a'],
  ['a video', { instances: [{ prompt: 'a', image: {} }] }, 'a'],
  ['several videos', { instances: [{ prompt: 'a' }, {}, { prompt: 'b' }] }, 'a\nb'],
  ['an input text', { input: 'a', stream: true }, 'a'],
  [
    'the last message of the user',
    {
      contents: [
        { role: 'user', parts: [{ text: 'first' }] },
        { role: 'model', parts: [{ text: 'answer' }] },
        { parts: [{ inlineData: {} }, { text: 'a' }, { text: 'b' }] },
      ],
    },
    'a\nb',
  ],
  [
    'a message before the answer that the model begins',
    { contents: [{ parts: [{ text: 'a' }] }, { role: 'model', parts: [{ text: 'Once' }] }] },
    'a',
  ],
  [
    'an item of the input',
    { input: [{ role: 'assistant', content: 'x' }, { role: 'user', content: 'a' }, { type: 'other' }] },
    'a',
  ],
  [
    'a part of an item',
    { input: [{ role: 'user', content: [{ type: 'input_image' }, { type: 'input_text', text: 'a' }] }] },
    'a',
  ],
  ['no text', { contents: [{ parts: [{ inlineData: {} }] }] }, undefined],
  ['nothing at all', {}, undefined],
  ['no list', { input: 7 }, undefined],
])('the prompt of %s', (_, body, prompt) => {
  expect(promptOf(body as never)).toBe(prompt)
})
