import { expect, test } from 'vitest'
import { sample } from '../../support/sample.ts'
import { readReply } from './read-reply.ts'
import { corpora, type Corpus } from './replies.ts'

/** Line endings do not matter: every stream is tried with CRLF and CR as well. */
const splitReplies = corpora.flatMap((corpus) => {
  const text = corpus.bytes.toString('latin1')
  if (!text.includes('data:') || text.startsWith('{') || text.includes('\r')) return [corpus]
  const withEnding = (ending: string): Corpus => ({
    ...corpus,
    name: `${corpus.name}, with ${JSON.stringify(ending)}`,
    bytes: Buffer.from(text.replaceAll('\n', ending), 'latin1'),
  })
  return [corpus, withEnding('\r\n'), withEnding('\r')]
})

/** Into single bytes, in two, and in three a little behind each place. */
function* cuttings({ name, bytes }: Corpus): Generator<readonly Uint8Array[]> {
  yield [...bytes].map((byte) => Uint8Array.of(byte))
  const places = Array.from({ length: bytes.length + 1 }, (_, at) => at)
  for (const first of sample(places, { quick: 0.03, ci: 0.3 }, (place) => `${name}, ${place}`)) {
    yield [bytes.subarray(0, first), bytes.subarray(first)]
    for (const length of [1, 2, 3, 7]) {
      yield [bytes.subarray(0, first), bytes.subarray(first, first + length), bytes.subarray(first + length)]
    }
  }
}

test.for(splitReplies)('is read alike however it is cut: $name', async (reply) => {
  const whole = await readReply([reply.bytes])
  expect(whole).toMatchObject(reply.expected)
  const wanted = JSON.stringify(whole)
  const different: string[] = []
  for (const pieces of cuttings(reply)) {
    if (JSON.stringify(await readReply(pieces)) !== wanted) different.push(pieces.map(String).join(' | '))
  }
  expect(different).toEqual([])
})
