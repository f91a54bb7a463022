import { expect, test } from 'vitest'
import { inOrder, kindOf } from '../../../src/commands/init/answers.ts'

test.each<[string, string | null, string]>([
  ['gpt-image-2', 'image', 'image'],
  ['sora-2', 'video', 'video'],
  ['veo-3.1', 'video', 'video'],
  ['gemini-3-pro', 'text', 'text'],
  ['gemini-3-pro-image-preview', 'text', 'image'],
  ['imagen-4', null, 'image'],
  ['flux-2-pro', null, 'image'],
  ['influx-1', null, 'text'],
  ['some-model', null, 'text'],
  ['text-embedding-3', null, 'other'],
  ['omni-moderation-latest', null, 'other'],
  ['tts-1', null, 'other'],
  ['gpt-realtime', null, 'other'],
])('the kind of %s, which is known as %s: %s', (id, kind, expected) => {
  expect(kindOf({ id, kind })).toBe(expected)
})

test('a model that is being retired is not proposed before one that stays', () => {
  const stays = (id: string) => ({ id, kind: null, retires: null, retired: false })
  const listed = [{ ...stays('gpt-image-1'), retires: '2026-12-01' }, stays('gpt-5'), stays('gpt-image-2')]
  expect(inOrder('image', listed).map(({ id }) => id)).toEqual(['gpt-image-2', 'gpt-image-1', 'gpt-5'])
})
