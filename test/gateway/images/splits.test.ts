import { expect, test } from 'vitest'
import { readReply } from './read-reply.ts'
import { corpora } from './replies.ts'

// With other line endings, and cut at any places: the fuzz target `cut-images`.
test.for(corpora)('is read whole and in single bytes: $name', async ({ bytes, expected }) => {
  const whole = await readReply([bytes])
  expect(whole).toMatchObject(expected)
  expect(await readReply([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(whole)
})
