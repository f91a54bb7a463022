import { expect, test } from 'vitest'
import { sample } from '../../support/sample.ts'
import { readReply } from './read-reply.ts'
import { corpora } from './replies.ts'

const whole = corpora.filter(({ expected }) => expected.error === undefined)

test.for(whole)('is told from its beginning alone: $name', async ({ name, bytes }) => {
  const all = await readReply([bytes])
  const lengths = Array.from(bytes, (_, length) => length)
  for (const length of sample(lengths, 0.1, (place) => `${name}, ${place}`)) {
    const cut = await readReply([bytes.subarray(0, length)])
    // What came whole stays; an image that was cut is never passed off as one.
    const done = (pictures: readonly string[]) => pictures.filter((picture) => picture.includes(': done'))
    expect(done(all.pictures).slice(0, done(cut.pictures).length)).toEqual(done(cut.pictures))
    expect(cut.images).toEqual(all.images.slice(0, cut.images.length))
    if (cut.error === undefined && cut.images.length === all.images.length) continue
    expect([
      'connection_lost',
      'reply_not_understood',
      'generation_failed',
      'damaged_media',
      undefined,
    ]).toContain(cut.error)
  }
})

test.for([
  ['deep nesting', `{"a":${'['.repeat(600)}${']'.repeat(600)}}`, 'reply_too_large'],
  ['a text without end', `{"a":"${'x'.repeat(33 * 1_048_576)}`, 'reply_too_large'],
  [
    'more images than anybody asks for',
    `{"data":[${'{"b64_json":"AAAA"},'.repeat(1100)}{}]}`,
    'reply_not_understood',
  ],
] as const)('stops at %s', async ([, text, code]) => {
  expect(await readReply([Buffer.from(text)])).toMatchObject({ error: code })
})

test('drops an image of which the end did not come', async () => {
  const text = `{"data":[{"b64_json":"${'A'.repeat(600_000)}`
  expect(await readReply([Buffer.from(text)])).toMatchObject({
    pictures: ['0: dropped'],
    error: 'connection_lost',
  })
})
