import { expect, test } from 'vitest'
import { sample } from '../../support/sample.ts'
import { readReply } from './read-reply.ts'
import { corpora } from './replies.ts'

// With other line endings, and cut at any places: the fuzz target `cut-images`.
test.for(corpora)('is read whole and in single bytes: $name', async ({ bytes, expected }) => {
  const whole = await readReply([bytes])
  expect(whole).toMatchObject(expected)
  expect(await readReply([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(whole)
})

const done = (pictures: readonly string[]) => pictures.filter((picture) => picture.includes(': done'))
const problems = ['connection_lost', 'reply_not_understood', 'generation_failed', 'damaged_media', undefined]

test.for(corpora.filter(({ expected }) => expected.error === undefined))(
  'is told from its beginning alone: $name',
  async ({ name, bytes }) => {
    const all = await readReply([bytes])
    const lengths = Array.from(bytes, (_, length) => length)
    for (const length of sample(lengths, 0.1, (place) => `${name}, ${place}`)) {
      const cut = await readReply([bytes.subarray(0, length)])
      // What came whole stays; an image that was cut is never passed off as one.
      expect(done(all.pictures).slice(0, done(cut.pictures).length)).toEqual(done(cut.pictures))
      expect(cut.images).toEqual(all.images.slice(0, cut.images.length))
      if (cut.error === undefined && cut.images.length === all.images.length) continue
      expect(problems).toContain(cut.error)
    }
  },
)

test.for([
  ['deep nesting', `{"a":${'['.repeat(600)}${']'.repeat(600)}}`, [], 'reply_too_large'],
  ['a text without end', `{"a":"${'x'.repeat(33 * 1_048_576)}`, [], 'reply_too_large'],
  ['an image without end', `{"data":[{"b64_json":"${'A'.repeat(600_000)}`, ['0: dropped'], 'connection_lost'],
] as const)('stops at %s', async ([, text, pictures, error]) => {
  expect(await readReply([Buffer.from(text)])).toMatchObject({ pictures, error })
})

test('stops at more images than anybody asks for', async () => {
  const text = `{"data":[${'{"b64_json":"AAAA"},'.repeat(1100)}{}]}`
  expect(await readReply([Buffer.from(text)])).toMatchObject({ error: 'reply_not_understood' })
})
