import { expect, test } from 'vitest'
import { corpora, type Corpus } from './corpora.ts'
import { outcomeOf } from './outcome.ts'
import { amount, sample } from '../../support/sample.ts'

/** Cuts in two at every place, in three at every pair of places, and into single bytes. */
function* cuttings({ name, bytes }: Corpus): Generator<readonly Uint8Array[]> {
  yield [bytes]
  yield [...bytes].map((byte) => Uint8Array.of(byte))
  const places = Array.from({ length: bytes.length + 1 }, (_, at) => at)
  for (const first of sample(places, { quick: 0.1, ci: 0.3 }, (place) => `${name}, ${place}`)) {
    yield [bytes.subarray(0, first), bytes.subarray(first)]
    for (let second = first + 1; second < bytes.length; second++) {
      yield [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)]
    }
  }
}

/** Line endings do not matter: every reply with LF is tried with CRLF and CR as well. */
const replies = corpora.flatMap((corpus) => [
  corpus,
  ...(corpus.bytes.includes('\n') && !corpus.bytes.includes('\r')
    ? [withLineEnding(corpus, '\r\n', 'CRLF'), withLineEnding(corpus, '\r', 'CR')]
    : []),
])

function withLineEnding(corpus: Corpus, ending: string, called: string): Corpus {
  const bytes = Buffer.from(corpus.bytes.toString('latin1').replaceAll('\n', ending), 'latin1')
  return { ...corpus, name: `${corpus.name}, with ${called}`, bytes }
}

test.for(replies)('is read alike however it is cut: $name', (corpus) => {
  const { messages, done, error } = corpus
  expect(outcomeOf([corpus.bytes])).toEqual({ messages, done, error })
  const expected = JSON.stringify({ messages, done, error })
  const different = [...cuttings(corpus)].find((pieces) => JSON.stringify(outcomeOf(pieces)) !== expected)
  expect(different?.map(String)).toBeUndefined()
})

test('there are at least 50,000 cuttings of at least 40 replies, or a sample of them', () => {
  const total = replies.reduce((sum, corpus) => sum + [...cuttings(corpus)].length, 0)
  expect(corpora.length).toBeGreaterThanOrEqual(40)
  expect(total).toBeGreaterThanOrEqual(amount({ quick: 1_000, ci: 10_000, full: 50_000 }))
})
