import { expect, test } from 'vitest'
import { readReply } from './read-reply.ts'
import { corpora, type Corpus } from './replies.ts'

/** Cuts in two at every place, in three at some pairs of places, and into single bytes. */
function* cuttings(bytes: Buffer): Generator<readonly Uint8Array[]> {
  yield [...bytes].map((byte) => Uint8Array.of(byte))
  for (let first = 0; first <= bytes.length; first++) {
    yield [bytes.subarray(0, first), bytes.subarray(first)]
    for (const length of [1, 2, 3, 7]) {
      yield [bytes.subarray(0, first), bytes.subarray(first, first + length), bytes.subarray(first + length)]
    }
  }
}

/** Line endings do not matter: every stream is tried with CRLF and CR as well. */
const replies = corpora.flatMap((corpus) => {
  const text = corpus.bytes.toString('latin1')
  if (!text.includes('data:') || text.startsWith('{') || text.includes('\r')) return [corpus]
  const withEnding = (ending: string): Corpus => ({
    ...corpus,
    name: `${corpus.name}, with ${JSON.stringify(ending)}`,
    bytes: Buffer.from(text.replaceAll('\n', ending), 'latin1'),
  })
  return [corpus, withEnding('\r\n'), withEnding('\r')]
})

test.for(replies)('is read alike however it is cut: $name', async ({ bytes, expected }) => {
  const whole = await readReply([bytes])
  expect(whole).toMatchObject(expected)
  const wanted = JSON.stringify(whole)
  const different: string[] = []
  for (const pieces of cuttings(bytes)) {
    if (JSON.stringify(await readReply(pieces)) !== wanted) different.push(pieces.map(String).join(' | '))
  }
  expect(different).toEqual([])
})
